"""What stays of one batch: itself, as the same bytes; a smaller one with the same range of offsets; or nothing.

A record stays if it is the latest of its key, as far as the map reaches, and a record behind the reach of the map stays
anyhow. A tombstone stays until the horizon in its batch has passed; the pass that meets it first writes the horizon
(KIP-534). The same horizon delays the end of markers that nothing depends on. A record without a key, from before the
topic was compacted, goes.

A batch without records stays, as an empty one, where its header is needed: the last of a producer tells its sequence
and epoch, and the last of a segment how far its offsets reach.
"""

from dataclasses import dataclass
from itertools import compress as chosen

from ottla.protocol.batch_builder import rebuild_batch
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
from ottla.storage.cleaning.record_columns import RecordColumns
from ottla.storage.cleaning.transactions import CleanedTransactions


@dataclass(slots=True)
class Tally:
    """Records that the filter saw."""

    read: int = 0
    kept: int = 0
    without_key: int = 0


class BatchFilter:
    """The decisions of one pass, for batches in the order of the log."""

    def __init__(self, job: CleaningJob, offsets: OffsetMap, transactions: CleanedTransactions) -> None:
        self.tally = Tally()
        self._producers = job.producers
        self._now_ms = job.now_ms
        self._horizon_ms = job.now_ms + job.delete_retention_ms
        self._offsets = offsets
        self._transactions = transactions

    def kept(self, header: BatchHeader, batch: memoryview, *, ends_segment: bool) -> tuple[Buffer, int] | None:
        """The bytes of what stays and its largest timestamp; None if nothing does."""
        left = self._marker(header, batch) if header.is_control else self._records(header, batch)
        if left is None:
            if not ends_segment and not self._is_last_of_producer(header):
                return None
            left = batch if header.record_count == 0 else rebuild_batch(header, (), None)
        return left, header.max_timestamp if left is batch else parse_header(left).max_timestamp

    def _marker(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        """A control batch, None if its record is not needed any more."""
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

    def _records(self, header: BatchHeader, batch: memoryview) -> Buffer | None:
        """A batch of records with those that stay, None if none does."""
        self.tally.read += header.record_count
        if self._transactions.is_void(header) or header.record_count == 0:
            return None
        columns = RecordColumns(bytes(decompressed_payload(batch, header)), header.record_count)
        reach = self._offsets.latest_offset - header.base_offset
        is_kept = self._retained(header, columns, reach)
        kept_count = sum(is_kept)
        self.tally.kept += kept_count
        if kept_count == 0:
            return None
        # Once a tombstone is within the reach of the map, what came before it is gone, and its time begins.
        is_dated = header.delete_horizon_ms is None and any(
            is_kept[number] and columns.offset_deltas[number] <= reach for number in columns.tombstones
        )
        if is_dated:
            return rebuild_batch(header, list(chosen(batch_records(batch, header), is_kept)), self._horizon_ms)
        if kept_count == len(columns):
            return batch
        return _shortened(header, columns, is_kept)

    def _retained(self, header: BatchHeader, columns: RecordColumns, reach: int) -> list[bool]:
        """Which records stay. `reach` is the offset up to which the map knows the log, relative to the batch.

        No key has a later offset in the map than that: what lies behind it stays by itself.
        """
        base_offset = header.base_offset
        deltas, keys = columns.offset_deltas, columns.keys
        known = [key for key in keys if key is not None]
        latest = iter(self._offsets.latest_of(known))
        if len(known) == len(keys):
            is_kept = [base_offset + delta >= offset for delta, offset in zip(deltas, latest, strict=True)]
        else:
            is_kept = [
                (base_offset + delta >= next(latest)) if key is not None else delta > reach
                for key, delta in zip(keys, deltas, strict=True)
            ]
            self.tally.without_key += sum(
                key is None and delta <= reach for key, delta in zip(keys, deltas, strict=True)
            )
        horizon_ms = header.delete_horizon_ms
        if horizon_ms is not None and horizon_ms <= self._now_ms:
            for number in columns.tombstones:
                is_kept[number] = is_kept[number] and deltas[number] > reach
        return is_kept

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self._producers.get(header.producer_id) if header.has_producer_id else None
        if last is None:
            return False
        if last.last_offset is not None:
            return header.last_offset == last.last_offset
        return header.is_control and header.producer_epoch == last.epoch


def _shortened(header: BatchHeader, columns: RecordColumns, is_kept: list[bool]) -> bytearray:
    """A batch with some of its records, whose bytes stay as they are."""
    max_timestamp = header.max_timestamp
    if header.timestamp_type is TimestampType.CREATE_TIME:
        max_timestamp = header.base_timestamp + columns.latest_timestamp_delta(is_kept)
    return encode_batch(
        header._replace(max_timestamp=max_timestamp, record_count=sum(is_kept)),
        compress(header.codec, columns.only(is_kept)),
    )
