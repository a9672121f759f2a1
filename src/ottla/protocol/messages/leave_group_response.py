"""LeaveGroupResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class MemberResponse(Message):
    __slots__ = ("member_id", "group_instance_id", "error_code")
    FIELDS = (
        ("member_id", "string", "3+", "", -1, ""),
        ("group_instance_id", "string", "3+", "3+", -1, ""),
        ("error_code", "int16", "3+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


class LeaveGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "members")
    FIELDS = (
        ("throttle_time_ms", "int32", "1+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("members", "[]MemberResponse", "3+", "", -1, ""),
    )
    API_KEY = 13
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: Sequence[MemberResponse] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = members
