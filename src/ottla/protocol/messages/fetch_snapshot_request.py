"""FetchSnapshotRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class SnapshotId(Message):
    __slots__ = ("end_offset", "epoch")
    FIELDS = (
        ("end_offset", "int64", "0+", "", -1, ""),
        ("epoch", "int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class PartitionSnapshot(Message):
    __slots__ = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")
    FIELDS = (
        ("partition", "int32", "0+", "", -1, ""),
        ("current_leader_epoch", "int32", "0+", "", -1, ""),
        ("snapshot_id", "SnapshotId", "0+", "", -1, ""),
        ("position", "int64", "0+", "", -1, ""),
        ("replica_directory_id", "uuid", "1+", "", 0, "1+"),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId | None = None,
        position: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id


class TopicSnapshot(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]PartitionSnapshot", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[PartitionSnapshot] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class FetchSnapshotRequest(Message):
    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics")
    FIELDS = (
        ("cluster_id", "string", "0+", "0+", 0, "0+"),
        ("replica_id", "int32", "0+", "", -1, ""),
        ("max_bytes", "int32", "0+", "", -1, ""),
        ("topics", "[]TopicSnapshot", "0+", "", -1, ""),
    )
    API_KEY = 59
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: Sequence[TopicSnapshot] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = topics
