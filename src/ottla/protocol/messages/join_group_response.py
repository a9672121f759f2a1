"""JoinGroupResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class JoinGroupResponseMember(Message):
    __slots__ = ("member_id", "group_instance_id", "metadata")
    FIELDS = (
        ("member_id", "string", "0+", "", -1, ""),
        ("group_instance_id", "string", "5+", "5+", -1, ""),
        ("metadata", "bytes", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


class JoinGroupResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )
    FIELDS = (
        ("throttle_time_ms", "int32", "2+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("generation_id", "int32", "0+", "", -1, ""),
        ("protocol_type", "string", "7+", "7+", -1, ""),
        ("protocol_name", "string", "0+", "7+", -1, ""),
        ("leader", "string", "0+", "", -1, ""),
        ("skip_assignment", "bool", "9+", "", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("members", "[]JoinGroupResponseMember", "0+", "", -1, ""),
    )
    API_KEY = 11
    VERSIONS = range(0, 10)
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: Sequence[JoinGroupResponseMember] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = members
