"""ConsumerGroupPartitionMetadataValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionMetadata(Message):
    __slots__ = ("partition", "racks")
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("racks", "[]string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        racks: Sequence[str] = (),
    ) -> None:
        self.partition = partition
        self.racks = racks


class TopicMetadata(Message):
    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")
    FIELDS = (
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("topic_name", "string", "0+", "", -1, ""),
        ("num_partitions", "int32", "0+", "", -1, ""),
        ("partition_metadata", "[]PartitionMetadata", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: Sequence[PartitionMetadata] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = partition_metadata


class ConsumerGroupPartitionMetadataValue(Message):
    __slots__ = ("topics",)
    FIELDS = (
        ("topics", "[]TopicMetadata", "0+", "", -1, ""),
    )
    API_KEY = 4
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        topics: Sequence[TopicMetadata] = (),
    ) -> None:
        self.topics = topics
