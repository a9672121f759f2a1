"""ControllerRegistrationRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

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


class ControllerRegistrationRequest(Message):
    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")
    FIELDS = (
        ("controller_id", "int32", "0+", "", -1, ""),
        ("incarnation_id", "uuid", "0+", "", -1, ""),
        ("zk_migration_ready", "bool", "0+", "", -1, ""),
        ("listeners", "[]Listener", "0+", "", -1, ""),
        ("features", "[]Feature", "0+", "", -1, ""),
    )
    API_KEY = 70
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: Sequence[Listener] = (),
        features: Sequence[Feature] = (),
    ) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = listeners
        self.features = features
