"""RegisterBrokerRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class BrokerEndpoint(Message):
    __slots__ = ("name", "host", "port", "security_protocol")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("host", "string", "0+", "", -1, ""),
        ("port", "uint16", "0+", "", -1, ""),
        ("security_protocol", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


class BrokerFeature(Message):
    __slots__ = ("name", "min_supported_version", "max_supported_version")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("min_supported_version", "int16", "0+", "", -1, ""),
        ("max_supported_version", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


class RegisterBrokerRecord(Message):
    __slots__ = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
        ("is_migrating_zk_broker", "bool", "2+", "", -1, ""),
        ("incarnation_id", "uuid", "0+", "", -1, ""),
        ("broker_epoch", "int64", "0+", "", -1, ""),
        ("end_points", "[]BrokerEndpoint", "0+", "", -1, ""),
        ("features", "[]BrokerFeature", "0+", "", -1, ""),
        ("rack", "string", "0+", "0+", -1, ""),
        ("fenced", "bool", "0+", "", -1, ""),
        ("in_controlled_shutdown", "bool", "1+", "", -1, ""),
        ("log_dirs", "[]uuid", "3+", "", 0, "3+"),
        ("cordoned_log_dirs", "[]uuid", "4+", "4+", 1, "4+"),
    )
    API_KEY = 0
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: Sequence[BrokerEndpoint] = (),
        features: Sequence[BrokerFeature] = (),
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = end_points
        self.features = features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
