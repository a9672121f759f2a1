"""One pass over a compacted log, from reading its keys to new segment files; it changes nothing else.

First the dirty part is read into the map of keys, or as much of it as the map holds. The offset reached is the end of
the pass; it may lie inside a segment. Then the segments that begin before the end are read in groups of neighbours that
fit into one segment together. What stays of each group is written to files that end in `.cleaned`, and synced. The
caller puts each group in place before the next one is written.

Memory is bounded: the map has its size, and segments are read and written in pieces of the input buffer's size, or of
one batch if that is larger.
"""

from collections.abc import Callable, Generator, Iterator

import numpy as np

from ottla.protocol.compression import Buffer, Codec
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import BatchHeader, crc_is_valid
from ottla.protocol.records import CorruptRecords
from ottla.storage.cleaning.batch_filter import BatchFilter, KeptBatch, SourceBatch, payloads_of
from ottla.storage.cleaning.job import CleanedSegment, CleaningJob, PassEnd, PassStatistics, SourceSegment
from ottla.storage.cleaning.offset_map import ENTRY_BYTES, OffsetMap
from ottla.storage.cleaning.pace import Pace
from ottla.storage.cleaning.record_columns import RecordColumns
from ottla.storage.cleaning.transactions import CleanedTransactions
from ottla.storage.file_system import File, FileSystem
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET
from ottla.storage.segment import Segment
from ottla.storage.segment_files import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    SegmentFiles,
    segment_path,
)
from ottla.storage.segment_list import TAKEN_AT_ONCE_MAX
from ottla.storage.segment_scan import scan_batches

_MIN_BUFFER_BYTES = 4096


class CleaningPass:
    """The work of one job."""

    def __init__(self, job: CleaningJob, file_system: FileSystem, pace: Pace) -> None:
        self._job = job
        self._file_system = file_system
        self._pace = pace
        self._buffer_bytes = max(job.limits.io_buffer_bytes, _MIN_BUFFER_BYTES)
        self._bytes_read = 0
        self._bytes_written = 0
        ends = [source.base_offset for source in job.sources[1:]] + [job.end_offset]
        self._sources = list(zip(job.sources, ends, strict=True))

    def run(self) -> Generator[CleanedSegment | PassEnd, None, None]:
        """Yield each new segment when it is complete, then the end of the pass; CorruptRecords, StorageError."""
        job = self._job
        began_s = self._pace.now_s()
        # There are no more keys than offsets.
        needed_bytes = int((job.end_offset - job.first_dirty_offset + 2) / job.limits.load_factor + 1) * ENTRY_BYTES
        offsets = OffsetMap(min(job.limits.dedupe_buffer_bytes, needed_bytes), job.limits.load_factor)
        self._map_keys(offsets)
        mapped_bytes = self._bytes_read
        clean_to = offsets.latest_offset + 1
        transactions = CleanedTransactions(job.aborted, job.sources[0].base_offset)
        batch_filter = BatchFilter(job, offsets, transactions)
        for group in self._groups(clean_to):
            yield self._clean(group, batch_filter, transactions)
        tally = batch_filter.tally
        yield PassEnd(
            clean_to,
            PassStatistics(
                bytes_cleaned=self._bytes_read - mapped_bytes,
                bytes_mapped=mapped_bytes,
                bytes_written=self._bytes_written,
                records_read=tally.read,
                records_kept=tally.kept,
                keyless_records=tally.without_key,
                map_utilization=offsets.utilization,
                seconds=self._pace.now_s() - began_s,
            ),
        )

    # Reading.

    def _map_keys(self, offsets: OffsetMap) -> None:
        start_offset = self._job.first_dirty_offset
        offsets.latest_offset = start_offset - 1
        dirty = [(source, end) for source, end in self._sources if end > start_offset]
        transactions = CleanedTransactions(self._job.aborted, dirty[0][0].base_offset)
        for source, end in dirty:
            for batches in self._chunks(source):
                living = [batch for batch in batches if _is_living(batch, transactions, start_offset)]
                if living and not _note_keys(offsets, RecordColumns(payloads_of(living)), start_offset):
                    return
                offsets.latest_offset = max(offsets.latest_offset, batches[-1].header.last_offset)
            # There may be no batch for the offsets after the last one.
            offsets.latest_offset = end - 1

    def _chunks(self, source: SourceSegment, *, ends_segment: bool = False) -> Iterator[list[SourceBatch]]:
        """Yield the batches of a segment, as many at a time as fit into the buffer before decompression."""
        chunk: list[SourceBatch] = []
        size = 0
        for header, data, is_last in self._batches(source):
            # A compressed batch is taken alone: it may be large once decompressed.
            is_compressed = header.codec is not Codec.NONE
            if chunk and (size + len(data) > self._buffer_bytes or is_compressed):
                yield chunk
                chunk, size = [], 0
            chunk.append(SourceBatch(header, data, ends_segment and is_last))
            size += self._buffer_bytes if is_compressed else len(data)
        if chunk:
            yield chunk

    def _batches(self, source: SourceSegment) -> Iterator[tuple[BatchHeader, memoryview, bool]]:
        """The batches, and whether each is the last; CorruptRecords rather than a new checksum for a damaged one."""
        path = segment_path(self._job.directory, source.base_offset, LOG_SUFFIX)
        file = _CountedFile(self._file_system.open(path), self)
        for position, header, batch in scan_batches(file, 0, source.size_bytes, chunk_bytes=self._buffer_bytes):
            if not crc_is_valid(batch, header):
                raise CorruptRecords(f"the checksum of the batch at offset {header.base_offset} does not match")
            yield header, batch, position + header.size_bytes == source.size_bytes

    def note_read(self, size: int) -> None:
        self._bytes_read += size
        self._pace.account(size)

    # Writing.

    def _groups(self, clean_to: int) -> Iterator[list[SourceSegment]]:
        """Neighbours that fit into one segment together, by bytes, by their indexes and by offsets.

        A group is small enough to be replaced in one step; a later pass may join more of many tiny segments.
        """
        job = self._job
        group: list[SourceSegment] = []
        size = indexes = 0
        for source, end in self._sources:
            if source.base_offset >= clean_to:
                break
            own_indexes = self._indexes_bytes(source)
            if group and (
                len(group) == TAKEN_AT_ONCE_MAX
                or size + source.size_bytes > job.segment_bytes
                or indexes + own_indexes > job.segment_index_bytes
                or end - 1 - group[0].base_offset > MAX_RELATIVE_OFFSET
            ):
                yield group
                group, size, indexes = [], 0, 0
            group.append(source)
            size += source.size_bytes
            indexes += own_indexes
        if group:
            yield group

    def _indexes_bytes(self, source: SourceSegment) -> int:
        paths = [
            segment_path(self._job.directory, source.base_offset, suffix)
            for suffix in (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX)
        ]
        return max(self._file_system.file_size(path) or 0 for path in paths)

    def _clean(
        self, group: list[SourceSegment], batch_filter: BatchFilter, transactions: CleanedTransactions
    ) -> CleanedSegment:
        job = self._job
        target = Segment.create(
            SegmentFiles(self._file_system, job.directory, group[0].base_offset, CLEANED_SUFFIX),
            index_interval_bytes=job.index_interval_bytes,
            created_ms=job.now_ms,
        )
        output = _Output(target, self._buffer_bytes, self._note_written)
        for source in group:
            for batches in self._chunks(source, ends_segment=source is group[-1]):
                for kept in batch_filter.kept(batches):
                    output.add(kept)
        output.flush()
        for entry in transactions.take_retained():
            target.transaction_index.append(entry)
        self._finish(target, group[-1])
        return CleanedSegment(target.base_offset, len(group), target.size_bytes)

    def _finish(self, target: Segment, last: SourceSegment) -> None:
        """Sync the files, and date them like the last of their sources: retention may have to rely on that."""
        modified_ms = self._file_system.modified_ms(segment_path(self._job.directory, last.base_offset, LOG_SUFFIX))
        target.seal()
        for file in (target.open_for_sync(), *map(self._file_system.open, sorted(target.take_unsynced()))):
            file.sync()
            # Syncing a large file may take long.
            self._pace.account(0)
        self._file_system.set_modified_ms(target.path, modified_ms)
        target.unload()

    def _note_written(self, size: int) -> None:
        self._bytes_written += size
        self._pace.account(size)


def _is_living(batch: SourceBatch, transactions: CleanedTransactions, start_offset: int) -> bool:
    """Whether a batch has records of the dirty part that were not aborted; must be asked about all batches in order."""
    header = batch.header
    if header.is_control:
        transactions.ends_nothing(header, parse_end_txn_marker(batch.data, header))
        return False
    return not transactions.is_void(header) and header.record_count > 0 and header.last_offset >= start_offset


def _note_keys(offsets: OffsetMap, columns: RecordColumns, start_offset: int) -> bool:
    """Note the keys from an offset on; False when the map is full."""
    rows = np.flatnonzero(columns.has_key & (columns.offsets >= start_offset))
    return offsets.put(columns.hashes.at(rows), columns.offsets[rows])


class _Output:
    """Batches on their way into a segment, several in one write."""

    def __init__(self, target: Segment, buffer_bytes: int, note_written: Callable[[int], None]) -> None:
        self._target = target
        self._buffer_bytes = buffer_bytes
        self._note_written = note_written
        self._pending: list[KeptBatch] = []
        self._pending_bytes = 0

    def add(self, kept: KeptBatch) -> None:
        self._pending.append(kept)
        self._pending_bytes += len(kept.data)
        if self._pending_bytes >= self._buffer_bytes:
            self.flush()

    def flush(self) -> None:
        pending, size = self._pending, self._pending_bytes
        if not pending:
            return
        self._pending, self._pending_bytes = [], 0
        position = self._target.write((b"".join(kept.data for kept in pending),), size)
        for kept in pending:
            self._target.note_batch(position, len(kept.data), kept.last_offset, kept.max_timestamp)
            position += len(kept.data)
        self._note_written(size)


class _CountedFile:
    """A file of which every byte read is accounted for."""

    def __init__(self, file: File, counter: CleaningPass) -> None:
        self.path = file.path
        self._file = file
        self._counter = counter

    def read(self, position: int, size: int) -> Buffer:
        data = self._file.read(position, size)
        self._counter.note_read(len(data))
        return data
