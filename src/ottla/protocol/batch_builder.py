"""Batches that the broker writes itself: coordinators' records, metadata, transaction markers, compacted segments."""

from collections.abc import Sequence

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
