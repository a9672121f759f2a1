"""SyncGroupRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class SyncGroupRequestAssignment(Message):
    __slots__ = ("member_id", "assignment")
    FIELDS = (
        ("member_id", "string", "0+", "", -1, ""),
        ("assignment", "bytes", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


class SyncGroupRequest(Message):
    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("generation_id", "int32", "0+", "", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("group_instance_id", "string", "3+", "3+", -1, ""),
        ("protocol_type", "string", "5+", "5+", -1, ""),
        ("protocol_name", "string", "5+", "5+", -1, ""),
        ("assignments", "[]SyncGroupRequestAssignment", "0+", "", -1, ""),
    )
    API_KEY = 14
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: Sequence[SyncGroupRequestAssignment] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = assignments
