"""JoinGroupRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class JoinGroupRequestProtocol(Message):
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


class JoinGroupRequest(Message):
    __slots__ = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("session_timeout_ms", "int32", "0+", "", -1, ""),
        ("rebalance_timeout_ms", "int32", "1+", "", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("group_instance_id", "string", "5+", "5+", -1, ""),
        ("protocol_type", "string", "0+", "", -1, ""),
        ("protocols", "[]JoinGroupRequestProtocol", "0+", "", -1, ""),
        ("reason", "string", "8+", "8+", -1, ""),
    )
    API_KEY = 11
    VERSIONS = range(0, 10)
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: Sequence[JoinGroupRequestProtocol] = (),
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.reason = reason
