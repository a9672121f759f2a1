"""OffsetDeleteRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class OffsetDeleteRequestPartition(Message):
    __slots__ = ("partition_index",)
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class OffsetDeleteRequestTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]OffsetDeleteRequestPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[OffsetDeleteRequestPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class OffsetDeleteRequest(Message):
    __slots__ = ("group_id", "topics")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("topics", "[]OffsetDeleteRequestTopic", "0+", "", -1, ""),
    )
    API_KEY = 47
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[OffsetDeleteRequestTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics
