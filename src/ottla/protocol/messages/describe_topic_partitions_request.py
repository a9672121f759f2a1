"""DescribeTopicPartitionsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class TopicRequest(Message):
    __slots__ = ("name",)
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
    ) -> None:
        self.name = name


class Cursor(Message):
    __slots__ = ("topic_name", "partition_index")
    FIELDS = (
        ("topic_name", "string", "0+", "", -1, ""),
        ("partition_index", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsRequest(Message):
    __slots__ = ("topics", "response_partition_limit", "cursor")
    FIELDS = (
        ("topics", "[]TopicRequest", "0+", "", -1, ""),
        ("response_partition_limit", "int32", "0+", "", -1, ""),
        ("cursor", "Cursor", "0+", "0+", -1, ""),
    )
    API_KEY = 75
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        topics: Sequence[TopicRequest] = (),
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics = topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
