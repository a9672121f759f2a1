"""GroupMetadataValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class MemberMetadata(Message):
    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )
    FIELDS = (
        ("member_id", "string", "0+", "", -1, ""),
        ("group_instance_id", "string", "3+", "3+", -1, ""),
        ("client_id", "string", "0+", "", -1, ""),
        ("client_host", "string", "0+", "", -1, ""),
        ("rebalance_timeout", "int32", "1+", "", -1, ""),
        ("session_timeout", "int32", "0+", "", -1, ""),
        ("subscription", "bytes", "0+", "", -1, ""),
        ("assignment", "bytes", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment


class GroupMetadataValue(Message):
    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")
    FIELDS = (
        ("protocol_type", "string", "0+", "", -1, ""),
        ("generation", "int32", "0+", "", -1, ""),
        ("protocol", "string", "0+", "0+", -1, ""),
        ("leader", "string", "0+", "0+", -1, ""),
        ("current_state_timestamp", "int64", "2+", "", -1, ""),
        ("members", "[]MemberMetadata", "0+", "", -1, ""),
    )
    API_KEY = 2
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: Sequence[MemberMetadata] = (),
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = members
