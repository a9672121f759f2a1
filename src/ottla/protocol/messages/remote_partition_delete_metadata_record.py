"""RemotePartitionDeleteMetadataRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

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


class RemotePartitionDeleteMetadataRecord(Message):
    __slots__ = ("topic_id_partition", "broker_id", "event_timestamp_ms", "remote_partition_delete_state")
    FIELDS = (
        ("topic_id_partition", "TopicIdPartitionEntry", "0+", "", -1, ""),
        ("broker_id", "int32", "0+", "", -1, ""),
        ("event_timestamp_ms", "int64", "0+", "", -1, ""),
        ("remote_partition_delete_state", "int8", "0+", "", -1, ""),
    )
    API_KEY = 2
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        topic_id_partition: TopicIdPartitionEntry | None = None,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        remote_partition_delete_state: int = 0,
    ) -> None:
        self.topic_id_partition = TopicIdPartitionEntry() if topic_id_partition is None else topic_id_partition
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.remote_partition_delete_state = remote_partition_delete_state
