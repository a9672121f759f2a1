"""VoteRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("replica_epoch", "int32", "0+", "", -1, ""),
        ("replica_id", "int32", "0+", "", -1, ""),
        ("replica_directory_id", "uuid", "1+", "", -1, ""),
        ("voter_directory_id", "uuid", "1+", "", -1, ""),
        ("last_offset_epoch", "int32", "0+", "", -1, ""),
        ("last_offset", "int64", "0+", "", -1, ""),
        ("pre_vote", "bool", "2+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        voter_directory_id: bytes = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote


class TopicData(Message):
    __slots__ = ("topic_name", "partitions")
    FIELDS = (
        ("topic_name", "string", "0+", "", -1, ""),
        ("partitions", "[]PartitionData", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class VoteRequest(Message):
    __slots__ = ("cluster_id", "voter_id", "topics")
    FIELDS = (
        ("cluster_id", "string", "0+", "0+", -1, ""),
        ("voter_id", "int32", "1+", "", -1, ""),
        ("topics", "[]TopicData", "0+", "", -1, ""),
    )
    API_KEY = 52
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: Sequence[TopicData] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = topics
