"""OffsetForLeaderEpochRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class OffsetForLeaderPartition(Message):
    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("current_leader_epoch", "int32", "2+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


class OffsetForLeaderTopic(Message):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        ("topic", "string", "0+", "", -1, ""),
        ("partitions", "[]OffsetForLeaderPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[OffsetForLeaderPartition] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class OffsetForLeaderEpochRequest(Message):
    __slots__ = ("replica_id", "topics")
    FIELDS = (
        ("replica_id", "int32", "3+", "", -1, ""),
        ("topics", "[]OffsetForLeaderTopic", "0+", "", -1, ""),
    )
    API_KEY = 23
    VERSIONS = range(2, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        replica_id: int = -2,
        topics: Sequence[OffsetForLeaderTopic] = (),
    ) -> None:
        self.replica_id = replica_id
        self.topics = topics
