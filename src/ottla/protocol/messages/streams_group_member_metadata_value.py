"""StreamsGroupMemberMetadataValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class Endpoint(Message):
    __slots__ = ("host", "port")
    FIELDS = (
        ("host", "string", "0+", "", -1, ""),
        ("port", "uint16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port


class KeyValue(Message):
    __slots__ = ("key", "value")
    FIELDS = (
        ("key", "string", "0+", "", -1, ""),
        ("value", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value


class StreamsGroupMemberMetadataValue(Message):
    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
    )
    FIELDS = (
        ("instance_id", "string", "0+", "0+", -1, ""),
        ("rack_id", "string", "0+", "0+", -1, ""),
        ("client_id", "string", "0+", "", -1, ""),
        ("client_host", "string", "0+", "", -1, ""),
        ("rebalance_timeout_ms", "int32", "0+", "", -1, ""),
        ("topology_epoch", "int32", "0+", "", -1, ""),
        ("process_id", "string", "0+", "", -1, ""),
        ("user_endpoint", "Endpoint", "0+", "0+", -1, ""),
        ("client_tags", "[]KeyValue", "0+", "", -1, ""),
    )
    API_KEY = 19
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
