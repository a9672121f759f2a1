"""ClearElrRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ClearElrRecord(Message):
    __slots__ = ("topic_name",)
    FIELDS = (
        ("topic_name", "string", "0+", "", -1, ""),
    )
    API_KEY = 28
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        topic_name: str = "",
    ) -> None:
        self.topic_name = topic_name
