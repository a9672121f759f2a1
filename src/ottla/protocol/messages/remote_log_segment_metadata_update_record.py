"""RemoteLogSegmentMetadataUpdateRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class TopicIdPartitionEntry(Message):
    __slots__ = ("name", "id", "partition")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("id", "uuid", "0+", "", -1, ""),
        ("partition", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.name = name
        self.id = id
        self.partition = partition


class RemoteLogSegmentIdEntry(Message):
    __slots__ = ("topic_id_partition", "id")
    FIELDS = (
        ("topic_id_partition", "TopicIdPartitionEntry", "0+", "", -1, ""),
        ("id", "uuid", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        topic_id_partition: TopicIdPartitionEntry | None = None,
        id: bytes = ZERO_UUID,
    ) -> None:
        self.topic_id_partition = TopicIdPartitionEntry() if topic_id_partition is None else topic_id_partition
        self.id = id


class RemoteLogSegmentMetadataUpdateRecord(Message):
    __slots__ = (
        "remote_log_segment_id",
        "broker_id",
        "event_timestamp_ms",
        "custom_metadata",
        "remote_log_segment_state",
    )
    FIELDS = (
        ("remote_log_segment_id", "RemoteLogSegmentIdEntry", "0+", "", -1, ""),
        ("broker_id", "int32", "0+", "", -1, ""),
        ("event_timestamp_ms", "int64", "0+", "", -1, ""),
        ("custom_metadata", "bytes", "0+", "0+", -1, ""),
        ("remote_log_segment_state", "int8", "0+", "", -1, ""),
    )
    API_KEY = 1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentIdEntry | None = None,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
    ) -> None:
        self.remote_log_segment_id = RemoteLogSegmentIdEntry() if remote_log_segment_id is None else remote_log_segment_id
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
