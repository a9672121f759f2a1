"""AlterPartitionResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
    )
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("leader_id", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("isr", "[]int32", "0+", "", -1, ""),
        ("leader_recovery_state", "int8", "1+", "", -1, ""),
        ("partition_epoch", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: Sequence[int] = (),
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


class TopicData(Message):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "2+", "", -1, ""),
        ("partitions", "[]PartitionData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class AlterPartitionResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "topics")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("topics", "[]TopicData", "0+", "", -1, ""),
    )
    API_KEY = 56
    VERSIONS = range(2, 4)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = topics
