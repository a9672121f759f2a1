"""DeleteRecordsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DeleteRecordsPartitionResult(Message):
    __slots__ = ("partition_index", "low_watermark", "error_code")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("low_watermark", "int64", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


class DeleteRecordsTopicResult(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]DeleteRecordsPartitionResult", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartitionResult] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class DeleteRecordsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("topics", "[]DeleteRecordsTopicResult", "0+", "", -1, ""),
    )
    API_KEY = 21
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[DeleteRecordsTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
