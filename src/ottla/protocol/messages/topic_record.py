"""TopicRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class TopicRecord(Message):
    __slots__ = ("name", "topic_id")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("topic_id", "uuid", "0+", "", -1, ""),
    )
    API_KEY = 2
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
