"""DescribeShareGroupOffsetsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class DescribeShareGroupOffsetsResponsePartition(Message):
    __slots__ = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("start_offset", "int64", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("lag", "int64", "1+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponseTopic(Message):
    __slots__ = ("topic_name", "topic_id", "partitions")
    FIELDS = (
        ("topic_name", "string", "0+", "", -1, ""),
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("partitions", "[]DescribeShareGroupOffsetsResponsePartition", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = partitions


class DescribeShareGroupOffsetsResponseGroup(Message):
    __slots__ = ("group_id", "topics", "error_code", "error_message")
    FIELDS = (
        ("group_id", "string", "0+", "", -1, ""),
        ("topics", "[]DescribeShareGroupOffsetsResponseTopic", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = (),
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = topics
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("groups", "[]DescribeShareGroupOffsetsResponseGroup", "0+", "", -1, ""),
    )
    API_KEY = 90
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
