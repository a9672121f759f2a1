"""Batches that the broker writes itself: coordinators' records, metadata, transaction markers, compacted segments."""

import struct
from collections.abc import Sequence
from enum import IntEnum

from ottla.protocol.compression import Codec, compress
from ottla.protocol.record_batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    TimestampType,
    encode_batch,
)
from ottla.protocol.records import Headers, Record, encode_records

_CONTROL_KEY = struct.Struct(">hh")
_END_TXN_VALUE = struct.Struct(">hi")
_CONTROL_KEY_VERSION = 0
_END_TXN_VERSION = 0


class ControlType(IntEnum):
    """What a control record says; its key holds the number."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class BatchBuilder:
    """Collects records, then encodes them as one batch.

    Offsets count up from the base offset. The leader's append gives the batch its real place: most callers leave it 0.
    """

    def __init__(
        self,
        *,
        base_offset: int = 0,
        leader_epoch: int = NO_LEADER_EPOCH,
        codec: Codec = Codec.NONE,
        compression_level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        self._base_offset = base_offset
        self._leader_epoch = leader_epoch
        self._codec = codec
        self._compression_level = compression_level
        self._producer = (producer_id, producer_epoch, base_sequence)
        self._attributes = (
            codec
            | (LOG_APPEND_TIME_FLAG if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
            | (TRANSACTIONAL_FLAG if is_transactional else 0)
            | (CONTROL_FLAG if is_control else 0)
        )
        self._records: list[tuple[int, bytes | None, bytes | None, Headers]] = []

    def append(self, key: bytes | None, value: bytes | None, *, timestamp_ms: int, headers: Headers = ()) -> None:
        """Add a record."""
        self._records.append((timestamp_ms, key, value, headers))

    def __len__(self) -> int:
        return len(self._records)

    def build(self) -> bytearray:
        """The batch; at least one record is needed."""
        if not self._records:
            raise ValueError("a batch needs at least one record")
        base_timestamp = self._records[0][0]
        records = [
            Record(timestamp_ms - base_timestamp, delta, key, value, headers)
            for delta, (timestamp_ms, key, value, headers) in enumerate(self._records)
        ]
        header = BatchHeader(
            self._base_offset,
            0,
            self._leader_epoch,
            MAGIC,
            0,
            self._attributes,
            len(records) - 1,
            base_timestamp,
            max(timestamp_ms for timestamp_ms, *_ in self._records),
            *self._producer,
            len(records),
        )
        return encode_batch(header, compress(self._codec, encode_records(records), self._compression_level))


def rebuild_batch(original: BatchHeader, records: Sequence[Record], delete_horizon_ms: int | None) -> bytearray:
    """What compaction leaves of a batch: fewer records, or none, in the same offset and sequence range.

    `records` keep their deltas to the original header; a delete horizon takes the place of the base timestamp, and the
    deltas are moved along with it.
    """
    attributes = original.attributes
    base_timestamp = original.base_timestamp
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_FLAG
        shift = base_timestamp - delete_horizon_ms
        records = [record._replace(timestamp_delta=record.timestamp_delta + shift) for record in records]
        base_timestamp = delete_horizon_ms
    if original.timestamp_type is TimestampType.LOG_APPEND_TIME:
        max_timestamp = original.max_timestamp
    else:
        max_timestamp = max((base_timestamp + record.timestamp_delta for record in records), default=NO_TIMESTAMP)
    if not records:
        # An empty batch keeps the producer's sequence and the offset range alive; there is nothing to compress.
        attributes &= ~0x07
    header = original._replace(
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(records),
    )
    payload = compress(header.codec, encode_records(records)) if records else b""
    return encode_batch(header, payload)


def control_key(control_type: ControlType) -> bytes:
    """The key of a control record."""
    return _CONTROL_KEY.pack(_CONTROL_KEY_VERSION, control_type)


def parse_control_key(key: bytes | None) -> int:
    """The type of a control record; numbers that we do not know are returned as they are, -1 if there is no key."""
    if key is None or len(key) < _CONTROL_KEY.size:
        return -1
    control_type: int = _CONTROL_KEY.unpack_from(key)[1]
    return control_type


def control_batch(
    control_type: ControlType,
    value: bytes,
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """A batch of one control record without a producer, as in the metadata log; `value` is the encoded message."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch, is_control=True)
    builder.append(control_key(control_type), value, timestamp_ms=timestamp_ms)
    return builder.build()


def end_txn_batch(
    *, producer_id: int, producer_epoch: int, is_commit: bool, coordinator_epoch: int, timestamp_ms: int
) -> bytearray:
    """The marker that ends a producer's transaction in one partition."""
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True, is_control=True
    )
    key = control_key(ControlType.COMMIT if is_commit else ControlType.ABORT)
    builder.append(key, _END_TXN_VALUE.pack(_END_TXN_VERSION, coordinator_epoch), timestamp_ms=timestamp_ms)
    return builder.build()


def end_txn_coordinator_epoch(value: bytes | None) -> int:
    """The coordinator epoch in the value of an end-of-transaction marker."""
    if value is None or len(value) < _END_TXN_VALUE.size:
        return -1
    epoch: int = _END_TXN_VALUE.unpack_from(value)[1]
    return epoch
