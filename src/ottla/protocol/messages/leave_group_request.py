"""LeaveGroupRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class MemberIdentity(Message):
    __slots__ = ("member_id", "group_instance_id", "reason")
    FIELDS = (
        ("member_id", "string", "3+", "", -1, ""),
        ("group_instance_id", "string", "3+", "3+", -1, ""),
        ("reason", "string", "5+", "5+", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


class LeaveGroupRequest(Message):
    __slots__ = ("group_id", "member_id", "members")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("member_id", "string", "0-2", "", -1, ""),
        ("members", "[]MemberIdentity", "3+", "", -1, ""),
    )
    API_KEY = 13
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        members: Sequence[MemberIdentity] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = members
