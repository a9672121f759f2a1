"""RemoveTopicRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class RemoveTopicRecord(Message):
    __slots__ = ("topic_id",)
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
    )
    API_KEY = 9
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.topic_id = topic_id
