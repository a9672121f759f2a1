"""ConsumerGroupMemberMetadataValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ClassicProtocol(Message):
    __slots__ = ("name", "metadata")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("metadata", "bytes", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        metadata: bytes = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


class ClassicMemberMetadata(Message):
    __slots__ = ("session_timeout_ms", "supported_protocols")
    FIELDS = (
        ("session_timeout_ms", "int32", "0+", "", -1, ""),
        ("supported_protocols", "[]ClassicProtocol", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        session_timeout_ms: int = 0,
        supported_protocols: Sequence[ClassicProtocol] = (),
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = supported_protocols


class ConsumerGroupMemberMetadataValue(Message):
    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )
    FIELDS = (
        ("instance_id", "string", "0+", "0+", -1, ""),
        ("rack_id", "string", "0+", "0+", -1, ""),
        ("client_id", "string", "0+", "", -1, ""),
        ("client_host", "string", "0+", "", -1, ""),
        ("subscribed_topic_names", "[]string", "0+", "", -1, ""),
        ("subscribed_topic_regex", "string", "0+", "0+", -1, ""),
        ("rebalance_timeout_ms", "int32", "0+", "", -1, ""),
        ("server_assignor", "string", "0+", "0+", -1, ""),
        ("classic_member_metadata", "ClassicMemberMetadata", "0+", "0+", 0, "0+"),
    )
    API_KEY = 5
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = None,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = classic_member_metadata
