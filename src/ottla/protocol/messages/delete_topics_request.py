"""DeleteTopicsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class DeleteTopicState(Message):
    __slots__ = ("name", "topic_id")
    FIELDS = (
        ("name", "string", "6+", "6+", -1, ""),
        ("topic_id", "uuid", "6+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str | None = None,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id


class DeleteTopicsRequest(Message):
    __slots__ = ("topics", "topic_names", "timeout_ms")
    FIELDS = (
        ("topics", "[]DeleteTopicState", "6+", "", -1, ""),
        ("topic_names", "[]string", "0-5", "", -1, ""),
        ("timeout_ms", "int32", "0+", "", -1, ""),
    )
    API_KEY = 20
    VERSIONS = range(1, 7)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        topics: Sequence[DeleteTopicState] = (),
        topic_names: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics = topics
        self.topic_names = topic_names
        self.timeout_ms = timeout_ms
