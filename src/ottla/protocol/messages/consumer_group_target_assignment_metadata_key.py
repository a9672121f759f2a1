"""ConsumerGroupTargetAssignmentMetadataKey, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ("group_id",)
    FIELDS = (
        ("group_id", "string", "0", "", -1, ""),
    )
    API_KEY = 6
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
