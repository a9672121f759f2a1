"""ListPartitionReassignmentsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ListPartitionReassignmentsTopics(Message):
    __slots__ = ("name", "partition_indexes")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partition_indexes", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = partition_indexes


class ListPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "topics")
    FIELDS = (
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("topics", "[]ListPartitionReassignmentsTopics", "0+", "0+", -1, ""),
    )
    API_KEY = 46
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: Sequence[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
