"""Compaction: of all records with the same key, the latest stays (KIP-58, KIP-534).

A log is clean up to the first dirty offset, where every key occurs once, and dirty behind it. One pass reads the dirty
part, or as much of it as the map holds, into a map from key to latest offset, then rewrites all segments that begin
before the end of that part and leaves out what the map supersedes. The end may lie inside a segment: what is behind it
stays, and the next pass goes on there. Offsets never change: a batch keeps its range, whatever is left in it.

A tombstone, a key without a value, is kept for delete.retention.ms after the pass that met it first, so that consumers
see it; the batch stores that horizon. Markers of transactions stay, records of aborted transactions go, and a batch
that holds a producer's last sequence stays as an empty one, as does the last batch of each rewritten range, so that
the new segment covers exactly the offsets of its sources.

Crash safety. New segments are written as `.cleaned`, synced, renamed to `.swap` (which settles that they are valid),
put in the place of their sources, and renamed once more. Opening the log finishes or undoes whatever was interrupted.

Not compacted: the active segment, what is above the last stable offset, and what is younger than min.compaction.lag.ms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from ottla.protocol.batch_builder import rebuild_batch
from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import BatchHeader, batch_records, crc_is_valid, parse_header
from ottla.protocol.records import CorruptRecords, Record
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET
from ottla.storage.segment import Segment
from ottla.storage.segment_files import CLEANED_SUFFIX
from ottla.storage.segment_scan import scan_batches
from ottla.storage.transaction_index import AbortedTransaction

# Keys that one pass remembers, and those of one batch more: the memory that it takes.
MAX_KEYS_PER_PASS = 1_000_000
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Cleanable:
    """What there is to do for one log."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        return self.dirty_bytes / (self.clean_bytes + self.dirty_bytes) if self.dirty_bytes else 0.0


def assess(log: Log, first_dirty_offset: int, now_ms: int) -> Cleanable | None:
    """What a pass over a log would find; None if nothing is due by min.cleanable.dirty.ratio and the lags.

    LogGone if the log is taken away meanwhile.
    """
    with log.unless_gone():
        return _assess(log, first_dirty_offset, now_ms)


def _assess(log: Log, first_dirty_offset: int, now_ms: int) -> Cleanable | None:
    config = log.config
    first_dirty_offset = max(first_dirty_offset, log.log_start_offset, log.segments[0].base_offset)
    if first_dirty_offset > log.log_end_offset:
        # The log was cut back behind the checkpoint.
        first_dirty_offset = log.segments[0].base_offset
    segments = log.segments
    clean_bytes = dirty_bytes = 0
    end_offset = first_dirty_offset
    is_overdue = False
    for segment, following in pairwise(segments):
        if following.base_offset <= first_dirty_offset:
            clean_bytes += segment.size_bytes
            continue
        if following.base_offset > log.last_stable_offset or _is_young(segment, config, now_ms):
            break
        dirty_bytes += segment.size_bytes
        end_offset = following.base_offset
        is_overdue = is_overdue or now_ms - segment.max_timestamp > config.max_compaction_lag_ms
    cleanable = Cleanable(first_dirty_offset, end_offset, clean_bytes, dirty_bytes, is_overdue)
    if dirty_bytes and (is_overdue or cleanable.dirty_ratio > config.min_cleanable_dirty_ratio):
        return cleanable
    return None


def compact(log: Log, file_system: FileSystem, cleanable: Cleanable, now_ms: int) -> int:
    """Do what was assessed; the offset up to which the log is clean now. Reads and writes whole segments.

    If the log is cut or shortened meanwhile, the pass ends without an effect and a later one begins again; LogGone if
    it is taken away.
    """
    truncation_count = log.truncation_count
    segments = [segment for segment in log.segments if segment.base_offset < cleanable.end_offset]
    try:
        return _compact(log, file_system, cleanable, truncation_count, now_ms)
    except (StorageError, CorruptRecords):
        if log.still_holds(segments, truncation_count):
            raise
        return cleanable.first_dirty_offset


def _compact(log: Log, file_system: FileSystem, cleanable: Cleanable, truncation_count: int, now_ms: int) -> int:
    dirty = [s for s in log.segments if cleanable.first_dirty_offset <= s.base_offset < cleanable.end_offset]
    holding = [s for s in log.segments if s.base_offset < cleanable.first_dirty_offset]
    if holding and (not dirty or dirty[0].base_offset > cleanable.first_dirty_offset):
        dirty.insert(0, holding[-1])
    latest_offsets: dict[bytes, int] = {}
    end_offset = cleanable.first_dirty_offset
    for segment in dirty:
        end_offset = _map_keys(log, segment, cleanable.first_dirty_offset, latest_offsets)
        if len(latest_offsets) >= MAX_KEYS_PER_PASS:
            break
    else:
        # Behind the last batch there may be offsets without one.
        end_offset = _segment_start_from(log, end_offset)
    segments = [s for s in log.segments if s.base_offset < end_offset]
    for group in _groups(segments, log.config, _segment_start_from(log, end_offset)):
        if not _Rewrite(log, file_system, group, latest_offsets, end_offset, truncation_count, now_ms).run():
            return cleanable.first_dirty_offset
    return end_offset


def _segment_start_from(log: Log, offset: int) -> int:
    """Where the first segment begins that holds nothing before an offset; the offset, if there is none."""
    return min((s.base_offset for s in log.segments if s.base_offset >= offset), default=offset)


def _is_young(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    return config.min_compaction_lag_ms > 0 and segment.max_timestamp > now_ms - config.min_compaction_lag_ms


def _map_keys(log: Log, segment: Segment, start_offset: int, latest_offsets: dict[bytes, int]) -> int:
    """Add a segment's keys to the map, until that is full; the offset after the last batch looked at."""
    end_offset = segment.base_offset
    aborted = log.aborted_transactions(segment.base_offset, log.log_end_offset)
    for _, header, batch in _checked_batches(segment):
        end_offset = header.next_offset
        if header.is_control or header.last_offset < start_offset or _is_aborted(header, aborted):
            continue
        for record in batch_records(batch, header):
            if record.key is not None:
                latest_offsets[_digest(record.key)] = header.base_offset + record.offset_delta
        if len(latest_offsets) >= MAX_KEYS_PER_PASS:
            break
    return end_offset


def _checked_batches(segment: Segment) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """The batches of a segment; CorruptRecords rather than giving a damaged one a new, valid checksum."""
    for position, header, batch in scan_batches(segment.file, 0, segment.size_bytes):
        if not crc_is_valid(batch, header):
            raise CorruptRecords(f"the checksum of the batch at offset {header.base_offset} does not fit")
        yield position, header, batch


def _digest(key: bytes) -> bytes:
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()


def _is_aborted(header: BatchHeader, aborted: list[AbortedTransaction]) -> bool:
    return header.is_transactional and any(
        transaction.producer_id == header.producer_id
        and transaction.first_offset <= header.base_offset <= transaction.last_offset
        for transaction in aborted
    )


def _groups(segments: list[Segment], config: LogConfig, end_offset: int) -> Iterator[list[Segment]]:
    """Neighbours that fit into one segment together."""
    group: list[Segment] = []
    size = 0
    ends = [segment.base_offset for segment in segments[1:]] + [end_offset]
    for segment, segment_end in zip(segments, ends, strict=True):
        if group and (
            size + segment.size_bytes > config.segment_bytes or segment_end - group[0].base_offset > MAX_RELATIVE_OFFSET
        ):
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size_bytes
    if group:
        yield group


class _Rewrite:
    """One group of segments on its way into one new segment."""

    def __init__(
        self,
        log: Log,
        file_system: FileSystem,
        group: list[Segment],
        latest_offsets: dict[bytes, int],
        end_offset: int,
        truncation_count: int,
        now_ms: int,
    ) -> None:
        self._log = log
        self._file_system = file_system
        self._group = group
        self._latest_offsets = latest_offsets
        self._end_offset = end_offset
        self._truncation_count = truncation_count
        self._now_ms = now_ms
        self._horizon_ms = now_ms + log.config.delete_retention_ms

    def run(self) -> bool:
        """Write the new segment and put it in place; False if the log changed meanwhile and nothing was done."""
        with self._log.changing():
            target = Segment.create(
                self._file_system,
                self._log.directory,
                self._group[0].base_offset,
                index_interval_bytes=self._log.config.index_interval_bytes,
                created_ms=self._now_ms,
                suffix=CLEANED_SUFFIX,
            )
        try:
            self._write(target)
        except DiskFull:
            target.remove_files()
            raise
        return self._log.replace_segments(self._group, target, self._truncation_count, self._now_ms)

    def _write(self, target: Segment) -> None:
        for segment in self._group:
            for entry in segment.transaction_index.entries:
                target.transaction_index.append(entry)
            self._filter(segment, target, is_last=segment is self._group[-1])
        with self._log.changing():
            target.seal()
            files = [target.open_for_sync(), *map(self._file_system.open, target.take_unsynced())]
        for file in files:
            file.sync()

    def _filter(self, source: Segment, target: Segment, *, is_last: bool) -> None:
        aborted = self._log.aborted_transactions(source.base_offset, self._log.log_end_offset)
        for position, header, batch in _checked_batches(source):
            ends_range = is_last and position + header.size_bytes == source.size_bytes
            kept = self._keep(header, batch, aborted, must_stay=ends_range)
            if kept is not None:
                target.append((kept,), len(kept), header.last_offset, parse_header(kept).max_timestamp)

    def _keep(
        self, header: BatchHeader, batch: memoryview, aborted: list[AbortedTransaction], *, must_stay: bool
    ) -> Buffer | None:
        """What stays of a batch: itself, a smaller one, or None."""
        if header.is_control or header.base_offset >= self._end_offset:
            # A tombstone that is not in the map has records before it that are not superseded yet.
            return batch
        records = list(batch_records(batch, header))
        if _is_aborted(header, aborted):
            retained = []
        else:
            retained = [record for record in records if self._retains(header, record)]
        has_new_tombstone = header.delete_horizon_ms is None and any(record.value is None for record in retained)
        if not retained and not must_stay and not self._is_last_of_producer(header):
            return None
        if len(retained) == len(records) and not has_new_tombstone:
            return batch
        return rebuild_batch(header, retained, self._horizon_ms if has_new_tombstone else None)

    def _retains(self, header: BatchHeader, record: Record) -> bool:
        if record.key is None:
            return False
        offset = header.base_offset + record.offset_delta
        if self._latest_offsets.get(_digest(record.key), -1) > offset:
            return False
        horizon_ms = header.delete_horizon_ms
        return record.value is not None or horizon_ms is None or self._now_ms < horizon_ms

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        state = self._log.producers.get(header.producer_id) if header.has_producer_id else None
        return state is not None and state.last_offset == header.last_offset
