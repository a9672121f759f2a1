"""ListOffsetsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ListOffsetsPartition(Message):
    __slots__ = ("partition_index", "current_leader_epoch", "timestamp")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("current_leader_epoch", "int32", "4+", "", -1, ""),
        ("timestamp", "int64", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp


class ListOffsetsTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]ListOffsetsPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[ListOffsetsPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class ListOffsetsRequest(Message):
    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")
    FIELDS = (
        ("replica_id", "int32", "0+", "", -1, ""),
        ("isolation_level", "int8", "2+", "", -1, ""),
        ("topics", "[]ListOffsetsTopic", "0+", "", -1, ""),
        ("timeout_ms", "int32", "10+", "", -1, ""),
    )
    API_KEY = 2
    VERSIONS = range(1, 12)
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: Sequence[ListOffsetsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = topics
        self.timeout_ms = timeout_ms
