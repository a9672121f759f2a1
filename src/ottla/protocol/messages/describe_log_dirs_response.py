"""DescribeLogDirsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribeLogDirsPartition(Message):
    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("partition_size", "int64", "0+", "", -1, ""),
        ("offset_lag", "int64", "0+", "", -1, ""),
        ("is_future_key", "bool", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


class DescribeLogDirsTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]DescribeLogDirsPartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[DescribeLogDirsPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class DescribeLogDirsResult(Message):
    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("log_dir", "string", "0+", "", -1, ""),
        ("topics", "[]DescribeLogDirsTopic", "0+", "", -1, ""),
        ("total_bytes", "int64", "4+", "", -1, ""),
        ("usable_bytes", "int64", "4+", "", -1, ""),
        ("is_cordoned", "bool", "5+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        log_dir: str = "",
        topics: Sequence[DescribeLogDirsTopic] = (),
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


class DescribeLogDirsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "results")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "3+", "", -1, ""),
        ("results", "[]DescribeLogDirsResult", "0+", "", -1, ""),
    )
    API_KEY = 35
    VERSIONS = range(1, 6)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: Sequence[DescribeLogDirsResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = results
