"""DescribeTopicPartitionsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class DescribeTopicPartitionsResponsePartition(Message):
    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("partition_index", "int32", "0+", "", -1, ""),
        ("leader_id", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("replica_nodes", "[]int32", "0+", "", -1, ""),
        ("isr_nodes", "[]int32", "0+", "", -1, ""),
        ("eligible_leader_replicas", "[]int32", "0+", "0+", -1, ""),
        ("last_known_elr", "[]int32", "0+", "0+", -1, ""),
        ("offline_replicas", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = replica_nodes
        self.isr_nodes = isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = offline_replicas


class DescribeTopicPartitionsResponseTopic(Message):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("name", "string", "0+", "0+", -1, ""),
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("is_internal", "bool", "0+", "", -1, ""),
        ("partitions", "[]DescribeTopicPartitionsResponsePartition", "0+", "", -1, ""),
        ("topic_authorized_operations", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: Sequence[DescribeTopicPartitionsResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.topic_authorized_operations = topic_authorized_operations


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


class DescribeTopicPartitionsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics", "next_cursor")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("topics", "[]DescribeTopicPartitionsResponseTopic", "0+", "", -1, ""),
        ("next_cursor", "Cursor", "0+", "0+", -1, ""),
    )
    API_KEY = 75
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DescribeTopicPartitionsResponseTopic] = (),
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
        self.next_cursor = next_cursor
