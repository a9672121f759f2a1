"""ReadShareGroupStateRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionData(Message):
    __slots__ = ("partition", "leader_epoch")
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch


class ReadStateData(Message):
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


class ReadShareGroupStateRequest(Message):
    __slots__ = ("group_id", "topics")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("topics", "[]ReadStateData", "0+", "", -1, ""),
    )
    API_KEY = 84
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[ReadStateData] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics
