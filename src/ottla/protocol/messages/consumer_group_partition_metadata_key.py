"""ConsumerGroupPartitionMetadataKey, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ConsumerGroupPartitionMetadataKey(Message):
    __slots__ = ("group_id",)
    FIELDS = (
        ("group_id", "string", "0", "", -1, ""),
    )
    API_KEY = 4
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id
