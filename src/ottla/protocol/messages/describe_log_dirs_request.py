"""DescribeLogDirsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribableLogDirTopic(Message):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        ("topic", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class DescribeLogDirsRequest(Message):
    __slots__ = ("topics",)
    FIELDS = (
        ("topics", "[]DescribableLogDirTopic", "0+", "0+", -1, ""),
    )
    API_KEY = 35
    VERSIONS = range(1, 6)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        topics: Sequence[DescribableLogDirTopic] | None = (),
    ) -> None:
        self.topics = topics
