"""AlterPartitionReassignmentsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ReassignablePartition(Message):
    __slots__ = ("partition_index", "replicas")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("replicas", "[]int32", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: Sequence[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


class ReassignableTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]ReassignablePartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[ReassignablePartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AlterPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")
    FIELDS = (
        ("timeout_ms", "int32", "0+", "", -1, ""),
        ("allow_replication_factor_change", "bool", "1+", "", -1, ""),
        ("topics", "[]ReassignableTopic", "0+", "", -1, ""),
    )
    API_KEY = 45
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: Sequence[ReassignableTopic] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = topics
