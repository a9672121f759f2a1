"""OffsetFetchResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class OffsetFetchResponsePartition(Message):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS = (
        ("partition_index", "int32", "0-7", "", -1, ""),
        ("committed_offset", "int64", "0-7", "", -1, ""),
        ("committed_leader_epoch", "int32", "5-7", "", -1, ""),
        ("metadata", "string", "0-7", "0-7", -1, ""),
        ("error_code", "int16", "0-7", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0-7", "", -1, ""),
        ("partitions", "[]OffsetFetchResponsePartition", "0-7", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[OffsetFetchResponsePartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class OffsetFetchResponsePartitions(Message):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS = (
        ("partition_index", "int32", "8+", "", -1, ""),
        ("committed_offset", "int64", "8+", "", -1, ""),
        ("committed_leader_epoch", "int32", "8+", "", -1, ""),
        ("metadata", "string", "8+", "8+", -1, ""),
        ("error_code", "int16", "8+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopics(Message):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS = (
        ("name", "string", "8-9", "", -1, ""),
        ("topic_id", "uuid", "10+", "", -1, ""),
        ("partitions", "[]OffsetFetchResponsePartitions", "8+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: Sequence[OffsetFetchResponsePartitions] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


class OffsetFetchResponseGroup(Message):
    __slots__ = ("group_id", "topics", "error_code")
    FIELDS = (
        ("group_id", "string", "8+", "", -1, ""),
        ("topics", "[]OffsetFetchResponseTopics", "8+", "", -1, ""),
        ("error_code", "int16", "8+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: Sequence[OffsetFetchResponseTopics] = (),
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = topics
        self.error_code = error_code


class OffsetFetchResponse(Message):
    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")
    FIELDS = (
        ("throttle_time_ms", "int32", "3+", "", -1, ""),
        ("topics", "[]OffsetFetchResponseTopic", "0-7", "", -1, ""),
        ("error_code", "int16", "2-7", "", -1, ""),
        ("groups", "[]OffsetFetchResponseGroup", "8+", "", -1, ""),
    )
    API_KEY = 9
    VERSIONS = range(1, 11)
    FLEXIBLE_FROM = 6

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetFetchResponseTopic] = (),
        error_code: int = 0,
        groups: Sequence[OffsetFetchResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
        self.error_code = error_code
        self.groups = groups
