"""ShareUpdateKey, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class ShareUpdateKey(Message):
    __slots__ = ("group_id", "topic_id", "partition")
    FIELDS = (
        ("group_id", "string", "0", "", -1, ""),
        ("topic_id", "uuid", "0", "", -1, ""),
        ("partition", "int32", "0", "", -1, ""),
    )
    API_KEY = 1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
