"""AssignReplicasToDirsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionData(Message):
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


class TopicData(Message):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
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


class DirectoryData(Message):
    __slots__ = ("id", "topics")
    FIELDS = (
        ("id", "uuid", "0+", "", -1, ""),
        ("topics", "[]TopicData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        id: bytes = ZERO_UUID,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.id = id
        self.topics = topics


class AssignReplicasToDirsRequest(Message):
    __slots__ = ("broker_id", "broker_epoch", "directories")
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
        ("broker_epoch", "int64", "0+", "", -1, ""),
        ("directories", "[]DirectoryData", "0+", "", -1, ""),
    )
    API_KEY = 73
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: Sequence[DirectoryData] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = directories
