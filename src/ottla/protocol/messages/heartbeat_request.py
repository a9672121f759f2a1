"""HeartbeatRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class HeartbeatRequest(Message):
    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("generation_id", "int32", "0+", "", -1, ""),
        ("member_id", "string", "0+", "", -1, ""),
        ("group_instance_id", "string", "3+", "3+", -1, ""),
    )
    API_KEY = 12
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
