"""ConsumerGroupRegularExpressionValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ConsumerGroupRegularExpressionValue(Message):
    __slots__ = ("topics", "version", "timestamp")
    FIELDS = (
        ("topics", "[]string", "0+", "", -1, ""),
        ("version", "int64", "0+", "", -1, ""),
        ("timestamp", "int64", "0+", "", -1, ""),
    )
    API_KEY = 16
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        topics: Sequence[str] = (),
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics = topics
        self.version = version
        self.timestamp = timestamp
