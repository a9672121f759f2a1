"""BrokerRegistrationRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class Listener(Message):
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


class Feature(Message):
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


class BrokerRegistrationRequest(Message):
    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
        ("cluster_id", "string", "0+", "", -1, ""),
        ("incarnation_id", "uuid", "0+", "", -1, ""),
        ("listeners", "[]Listener", "0+", "", -1, ""),
        ("features", "[]Feature", "0+", "", -1, ""),
        ("rack", "string", "0+", "0+", -1, ""),
        ("is_migrating_zk_broker", "bool", "1+", "", -1, ""),
        ("log_dirs", "[]uuid", "2+", "", -1, ""),
        ("previous_broker_epoch", "int64", "3+", "", -1, ""),
    )
    API_KEY = 62
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: Sequence[Listener] = (),
        features: Sequence[Feature] = (),
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: Sequence[bytes] = (),
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = listeners
        self.features = features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = log_dirs
        self.previous_broker_epoch = previous_broker_epoch
