"""RemoteLogSegmentMetadataSnapshotRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class SegmentLeaderEpochEntry(Message):
    __slots__ = ("leader_epoch", "offset")
    FIELDS = (
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("offset", "int64", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        leader_epoch: int = 0,
        offset: int = 0,
    ) -> None:
        self.leader_epoch = leader_epoch
        self.offset = offset


class RemoteLogSegmentMetadataSnapshotRecord(Message):
    __slots__ = (
        "segment_id",
        "start_offset",
        "end_offset",
        "broker_id",
        "max_timestamp_ms",
        "event_timestamp_ms",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "custom_metadata",
        "remote_log_segment_state",
        "txn_index_empty",
    )
    FIELDS = (
        ("segment_id", "uuid", "0+", "", -1, ""),
        ("start_offset", "int64", "0+", "", -1, ""),
        ("end_offset", "int64", "0+", "", -1, ""),
        ("broker_id", "int32", "0+", "", -1, ""),
        ("max_timestamp_ms", "int64", "0+", "", -1, ""),
        ("event_timestamp_ms", "int64", "0+", "", -1, ""),
        ("segment_leader_epochs", "[]SegmentLeaderEpochEntry", "0+", "", -1, ""),
        ("segment_size_in_bytes", "int32", "0+", "", -1, ""),
        ("custom_metadata", "bytes", "0+", "0+", -1, ""),
        ("remote_log_segment_state", "int8", "0+", "", -1, ""),
        ("txn_index_empty", "bool", "0+", "", 0, "0+"),
    )
    API_KEY = 3
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        segment_id: bytes = ZERO_UUID,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: Sequence[SegmentLeaderEpochEntry] = (),
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
    ) -> None:
        self.segment_id = segment_id
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty
