"""OffsetForLeaderEpochResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class EpochEndOffset(Message):
    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("partition", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "1+", "", -1, ""),
        ("end_offset", "int64", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


class OffsetForLeaderTopicResult(Message):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        ("topic", "string", "0+", "", -1, ""),
        ("partitions", "[]EpochEndOffset", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: Sequence[EpochEndOffset] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class OffsetForLeaderEpochResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        ("throttle_time_ms", "int32", "2+", "", -1, ""),
        ("topics", "[]OffsetForLeaderTopicResult", "0+", "", -1, ""),
    )
    API_KEY = 23
    VERSIONS = range(2, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetForLeaderTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
