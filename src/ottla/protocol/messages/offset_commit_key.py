"""OffsetCommitKey, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class OffsetCommitKey(Message):
    __slots__ = ("group", "topic", "partition")
    FIELDS = (
        ("group", "string", "0", "", -1, ""),
        ("topic", "string", "0", "", -1, ""),
        ("partition", "int32", "0", "", -1, ""),
    )
    API_KEY = 1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
