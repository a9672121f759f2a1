"""Record batches to and from records.

`visible_batches` leaves out what a reader must not see: the markers that brokers write between records, and with
read_committed the batches of aborted transactions. The broker names those by producer and first offset, and the abort
marker in the log ends each.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ottla.client.fetch_request import AbortedTransaction
from ottla.client.record_columns import split_records
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Buffer, Codec
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    TimestampType,
    crc_is_valid,
    decompressed_payload,
    iterate_headers,
)
from ottla.protocol.records import CorruptRecords, Headers


class NewRecord(NamedTuple):
    """A record to be written."""

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = 0
    headers: Headers = ()


class Record(NamedTuple):
    """A record as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: Headers
    batch: BatchHeader

    @property
    def leader_epoch(self) -> int:
        return self.batch.leader_epoch


class UnreadableBatch(CorruptRecords):
    """A batch that cannot be read; everything below `offset` can."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def visible_batches(
    batches: Buffer,
    aborted: Sequence[AbortedTransaction] | None = None,
    *,
    check_crc: bool = True,
    include_control: bool = False,
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield the position and header of each batch with records for a reader; `aborted` is None for read_uncommitted.

    With `include_control` the markers are shown as well. UnreadableBatch for one that does not match its checksum; its
    place is told by the batch before it, since its own offset may be damaged too.
    """
    pending = deque(sorted(aborted or (), key=lambda transaction: transaction.first_offset))
    hidden: set[int] = set()
    sound_end = 0
    for position, header in iterate_headers(batches):
        if check_crc and not crc_is_valid(batches, header, position):
            raise UnreadableBatch(sound_end, f"the batch at offset {header.base_offset} does not match its checksum")
        sound_end = header.next_offset
        while pending and pending[0].first_offset <= header.last_offset:
            hidden.add(pending.popleft().producer_id)
        if header.is_control:
            if header.producer_id in hidden and _is_abort(batches, position, header):
                hidden.discard(header.producer_id)
            if include_control:
                yield position, header
        elif not (header.is_transactional and header.producer_id in hidden):
            yield position, header


def decode_records(
    topic: str,
    partition: int,
    batches: Buffer,
    *,
    from_offset: int = 0,
    aborted: Sequence[AbortedTransaction] | None = None,
    check_crc: bool = True,
) -> list[Record]:
    """Decode the records from an offset on; `aborted` is None for read_uncommitted."""
    found = decode_batches(topic, partition, batches, from_offset=from_offset, aborted=aborted, check_crc=check_crc)
    return [record for records in found for record in records]


def decode_batches(
    topic: str,
    partition: int,
    batches: Buffer,
    *,
    from_offset: int = 0,
    aborted: Sequence[AbortedTransaction] | None = None,
    check_crc: bool = True,
    include_control: bool = False,
) -> Iterator[list[Record]]:
    """Decode batch by batch, each when it is needed; with `include_control` also the brokers' markers."""
    for position, header in visible_batches(batches, aborted, check_crc=check_crc, include_control=include_control):
        if header.last_offset < from_offset:
            continue
        try:
            records = _records_of(topic, partition, batches, position, header, from_offset)
        except CorruptRecords as error:
            raise UnreadableBatch(header.base_offset, error.message) from error
        yield records


def _records_of(
    topic: str, partition: int, batches: Buffer, position: int, header: BatchHeader, from_offset: int
) -> list[Record]:
    columns = split_records(decompressed_payload(batches, header, position), header.record_count)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    kind = header.timestamp_type
    appended_ms = header.max_timestamp if kind is TimestampType.LOG_APPEND_TIME else None
    rows = zip(
        columns.offset_deltas, columns.timestamp_deltas, columns.keys, columns.values, columns.headers, strict=True
    )
    return [
        Record(
            topic,
            partition,
            base_offset + offset,
            base_timestamp + time if appended_ms is None else appended_ms,
            kind,
            key,
            value,
            headers,
            header,
        )
        for offset, time, key, value, headers in rows
        if base_offset + offset >= from_offset
    ]


def encode_records(
    records: Iterable[NewRecord],
    *,
    codec: Codec = Codec.NONE,
    compression_level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytearray:
    """Encode these records as one batch, ready for `produce_batches`."""
    builder = BatchBuilder(
        codec=codec,
        compression_level=compression_level,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    for value, key, timestamp_ms, headers in records:
        builder.append(key, value, timestamp_ms=timestamp_ms, headers=headers)
    return builder.build()


def _is_abort(batches: Buffer, position: int, header: BatchHeader) -> bool:
    batch = memoryview(batches)[position : position + header.size_bytes]
    marker = parse_end_txn_marker(batch, header)
    return marker is not None and not marker.is_commit
