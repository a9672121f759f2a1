"""What compaction keeps of a batch: the same bytes, a smaller batch with the same range of offsets, or nothing.

A record stays if it is the latest of its key as far as the map reaches, or if it lies beyond the reach of the map. A
tombstone stays until the horizon in its batch has passed; the pass that meets it first writes the horizon (KIP-534).
The same horizon delays the removal of markers that nothing depends on. A record without a key, from before the topic
was compacted, is dropped.

An empty batch stays where its header is needed: the last batch of a producer holds its sequence and epoch, and the last
batch of a segment shows how far its offsets reach.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress as chosen
from typing import NamedTuple

import numpy as np

from ottla.protocol.batch_builder import rebuild_batch
from ottla.protocol.columnar.varints import Bools, Int64s
from ottla.protocol.compression import Buffer, compress
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import (
    BatchHeader,
    TimestampType,
    batch_records,
    decompressed_payload,
    encode_batch,
    parse_header,
)
from ottla.storage.cleaning.job import CleaningJob
from ottla.storage.cleaning.offset_map import OffsetMap
from ottla.storage.cleaning.record_columns import Payload, RecordColumns
from ottla.storage.cleaning.transactions import CleanedTransactions


@dataclass(slots=True)
class Tally:
    """Records that the filter saw."""

    read: int = 0
    kept: int = 0
    without_key: int = 0


class SourceBatch(NamedTuple):
    """A batch as it is in the log."""

    header: BatchHeader
    data: memoryview
    # Whether it is the last of the segment that takes its place.
    ends_segment: bool = False


class KeptBatch(NamedTuple):
    """A batch as it will be."""

    data: Buffer
    last_offset: int
    max_timestamp: int


class BatchFilter:
    """The decisions of one pass, for batches in the order of the log."""

    def __init__(self, job: CleaningJob, offsets: OffsetMap, transactions: CleanedTransactions) -> None:
        self.tally = Tally()
        self._producers = job.producers
        self._now_ms = job.now_ms
        self._horizon_ms = job.now_ms + job.delete_retention_ms
        self._offsets = offsets
        self._transactions = transactions

    def kept(self, batches: Sequence[SourceBatch]) -> Iterator[KeptBatch]:
        """Filter batches; those of which nothing stays are left out."""
        # Only the order of all batches tells how transactions end; the records can be looked at together.
        markers: dict[int, Buffer | None] = {}
        living: list[int] = []
        for number, batch in enumerate(batches):
            header = batch.header
            if header.is_control:
                markers[number] = self._marker(header, batch.data)
                continue
            self.tally.read += header.record_count
            if not self._transactions.is_void(header) and header.record_count > 0:
                living.append(number)
        records = self._records([batches[number] for number in living])
        left = {**markers, **dict(zip(living, records, strict=True))}
        for number, batch in enumerate(batches):
            kept = self._kept(batch, left.get(number))
            if kept is not None:
                yield kept

    def _kept(self, batch: SourceBatch, left: Buffer | None) -> KeptBatch | None:
        header = batch.header
        if left is None:
            if not batch.ends_segment and not self._is_last_of_producer(header):
                return None
            left = batch.data if header.record_count == 0 else rebuild_batch(header, (), None)
        max_timestamp = header.max_timestamp if left is batch.data else parse_header(left).max_timestamp
        return KeptBatch(left, header.last_offset, max_timestamp)

    def _marker(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        """Keep a control batch; None if its record is no longer needed."""
        marker = parse_end_txn_marker(batch, header)
        if marker is None and header.record_count > 0:
            # Not the end of a transaction.
            return batch
        is_needless = self._transactions.ends_nothing(header, marker)
        if marker is None:
            return None
        if not is_needless:
            return batch
        if header.delete_horizon_ms is None:
            return rebuild_batch(header, list(batch_records(batch, header)), self._horizon_ms)
        return None if header.delete_horizon_ms <= self._now_ms else batch

    def _records(self, batches: Sequence[SourceBatch]) -> Iterator[Buffer | None]:
        """Keep those records of batches that stay; None for a batch of which none does."""
        if not batches:
            return
        columns = RecordColumns(payloads_of(batches))
        is_kept = self._retained(batches, columns)
        # Once the map reaches a tombstone, everything before it is gone, and its horizon starts to run.
        begins_time = is_kept & columns.is_tombstone & (columns.offsets <= self._offsets.latest_offset)
        for batch, begin, end in zip(batches, columns.bounds, columns.bounds[1:], strict=False):
            kept_rows = np.flatnonzero(is_kept[begin:end])
            self.tally.kept += len(kept_rows)
            header = batch.header
            if not kept_rows.size:
                yield None
            elif header.delete_horizon_ms is None and begins_time[begin:end].any():
                kept = chosen(batch_records(batch.data, header), is_kept[begin:end].tolist())
                yield rebuild_batch(header, list(kept), self._horizon_ms)
            elif len(kept_rows) == end - begin:
                yield batch.data
            else:
                yield _shortened(header, columns, kept_rows + begin)

    def _retained(self, batches: Sequence[SourceBatch], columns: RecordColumns) -> Bools:
        """Which records stay. The map holds no offset beyond the part of the log that it covers."""
        is_beyond = columns.offsets > self._offsets.latest_offset
        is_latest = columns.offsets >= self._offsets.latest_of(columns.hashes)
        is_kept: Bools = np.where(columns.has_key, is_latest, is_beyond)
        self.tally.without_key += int(np.count_nonzero(~columns.has_key & ~is_beyond))
        for batch, begin, end in zip(batches, columns.bounds, columns.bounds[1:], strict=False):
            horizon_ms = batch.header.delete_horizon_ms
            if horizon_ms is not None and horizon_ms <= self._now_ms:
                is_kept[begin:end] &= ~columns.is_tombstone[begin:end] | is_beyond[begin:end]
        return is_kept

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self._producers.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_offset is not None:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.epoch


def payloads_of(batches: Sequence[SourceBatch]) -> list[Payload]:
    """The records of batches, decompressed."""
    return [
        Payload(header.base_offset, header.record_count, decompressed_payload(data, header))
        for header, data, _ in batches
    ]


def _shortened(header: BatchHeader, columns: RecordColumns, rows: Int64s) -> bytearray:
    """Shorten a batch to some of its records, whose bytes stay the same."""
    max_timestamp = header.max_timestamp
    if header.timestamp_type is TimestampType.CREATE_TIME:
        max_timestamp = header.base_timestamp + int(columns.timestamp_deltas[rows].max())
    return encode_batch(
        header._replace(max_timestamp=max_timestamp, record_count=len(rows)),
        compress(header.codec, columns.only(rows)),
    )
