"""Records into batches, for all who write them: producers, coordinators, the metadata quorum, compaction.

`ottla.client.columns` makes the same bytes from Arrow columns, without an object for any record.
"""

from collections.abc import Sequence

from ottla.protocol.compression import Codec, compress
from ottla.protocol.record_batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
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
from ottla.protocol.records import Headers, Record, encode_fields, encode_records


class BatchBuilder:
    """Encodes records as they come, then puts the header of their batch before them.

    Offsets count up from the base offset. The leader's append gives the batch its real place: most callers leave it 0.
    A producer learns its epoch and sequence only when it sends: `set_producer_state` may change them between builds,
    and the payload, compressed once, stays.
    """

    __slots__ = (
        "_base_offset",
        "_base_timestamp",
        "_codec",
        "_compression_level",
        "_flags",
        "_is_transactional",
        "_leader_epoch",
        "_max_timestamp",
        "_payload",
        "_producer_state",
        "_records",
        "count",
        "size_bytes",
    )

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
        self.count = 0
        # Before compression.
        self.size_bytes = HEADER_BYTES
        self._base_offset = base_offset
        self._leader_epoch = leader_epoch
        self._codec = codec
        self._compression_level = compression_level
        self._flags = (LOG_APPEND_TIME_FLAG if timestamp_type is TimestampType.LOG_APPEND_TIME else 0) | (
            CONTROL_FLAG if is_control else 0
        )
        self._producer_state = (producer_id, producer_epoch, base_sequence)
        self._is_transactional = is_transactional
        self._base_timestamp = self._max_timestamp = NO_TIMESTAMP
        self._records: list[bytes] = []
        self._payload: bytes | None = None

    def append(self, key: bytes | None, value: bytes | None, *, timestamp_ms: int, headers: Headers = ()) -> int:
        """Add a record; its number in the batch. After the first `build` it is too late."""
        number = self.count
        if number == 0:
            self._base_timestamp = self._max_timestamp = timestamp_ms
        elif timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        record = encode_fields(timestamp_ms - self._base_timestamp, number, key, value, headers)
        self._records.append(record)
        self.size_bytes += len(record)
        self.count = number + 1
        return number

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, *, is_transactional: bool = False
    ) -> None:
        """Whose batch the next `build` makes."""
        self._producer_state = (producer_id, producer_epoch, base_sequence)
        self._is_transactional = is_transactional

    def build(self) -> bytearray:
        """The batch; at least one record is needed."""
        if not self.count:
            raise ValueError("a batch needs at least one record")
        if self._payload is None:
            self._payload = compress(self._codec, b"".join(self._records), self._compression_level)
            self._records.clear()
        elif self._records:
            raise ValueError("records were added to a batch that was built already")
        header = BatchHeader(
            self._base_offset,
            0,
            self._leader_epoch,
            MAGIC,
            0,
            self._codec | self._flags | (TRANSACTIONAL_FLAG if self._is_transactional else 0),
            self.count - 1,
            self._base_timestamp,
            self._max_timestamp,
            *self._producer_state,
            self.count,
        )
        return encode_batch(header, self._payload)


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
