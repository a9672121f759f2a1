"""WriteShareGroupStateRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class StateBatch(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    FIELDS = (
        ("first_offset", "int64", "0+", "", -1, ""),
        ("last_offset", "int64", "0+", "", -1, ""),
        ("delivery_state", "int8", "0+", "", -1, ""),
        ("delivery_count", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class PartitionData(Message):
    __slots__ = ("partition", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("state_epoch", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("start_offset", "int64", "0+", "", -1, ""),
        ("delivery_complete_count", "int32", "1+", "", -1, ""),
        ("state_batches", "[]StateBatch", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = state_batches


class WriteStateData(Message):
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


class WriteShareGroupStateRequest(Message):
    __slots__ = ("group_id", "topics")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("topics", "[]WriteStateData", "0+", "", -1, ""),
    )
    API_KEY = 85
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[WriteStateData] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics
