"""The batches of a segment and what leads to them: offset index, time index, and the aborted transactions.

The files are opened and read on first use, which may wait for the disk, and `unload` forgets them again. Missing or
damaged indexes are made anew from the batches then; the files follow when there is space for them.

What a start finds on the disk is not taken at its word. An entry of an index that was read from a file counts only if
the batch it leads to agrees; otherwise DamagedIndex is raised, and `repair_indexes` is due. Where the batches are
damaged themselves, wrong entries have to be lived with, and lookups begin at the start of the file.

Readers in several threads load and look up at the same time; entries are added, dropped and written by one caller, who
holds the log's lock.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ottla.protocol.record_batch import HEADER_BYTES, NO_TIMESTAMP, BatchHeader, parse_header
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedIndex, DiskFull
from ottla.storage.file_system import File, FileSystem
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex, OffsetPosition
from ottla.storage.segment_files import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from ottla.storage.segment_scan import LOOKUP_CHUNK_BYTES, read_bytes, scan_headers
from ottla.storage.time_index import TimeIndex
from ottla.storage.transaction_index import TransactionIndex

_log = logging.getLogger(__name__)

Found = TypeVar("Found")

_UNKNOWN = -2


class IndexedBatches:
    """The batches from `base_offset` on, with their indexes."""

    __slots__ = (
        "_bytes_since_index",
        "_directory",
        "_file",
        "_file_system",
        "_has_no_aborted",
        "_has_true_indexes",
        "_index_interval_bytes",
        "_is_beyond_repair",
        "_loading",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offset_index",
        "_suffix",
        "_time_index",
        "_transaction_index",
        "_unsynced",
        "base_offset",
        "indexes_bytes",
        "rolling_timestamp",
        "size_bytes",
    )

    def __init__(
        self,
        file_system: FileSystem,
        directory: Path,
        base_offset: int,
        size_bytes: int,
        *,
        index_interval_bytes: int,
        suffix: str,
        is_found: bool,
    ) -> None:
        """`is_found` if the files were on the disk before, and nothing in them has been checked."""
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        # The size of the larger of the two indexes, to compare with segment.index.bytes.
        self.indexes_bytes = 0
        # The largest timestamp of the first batch: the clock by which the segment is rolled. None until known.
        self.rolling_timestamp: int | None = None
        self._file_system = file_system
        self._directory = directory
        self._suffix = suffix
        # Whether entries need no check; and whether wrong ones have to be lived with.
        self._has_true_indexes = not is_found
        self._is_beyond_repair = False
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_index = 0
        self._max_timestamp = _UNKNOWN
        self._max_timestamp_offset = base_offset
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        # Known to be so even while the index is not in memory: of a log without aborts no reader asks the disk.
        self._has_no_aborted = False
        # Threads that need the indexes of a sealed segment at the same time read them once.
        self._loading = threading.RLock()
        # Index files written since they were synced last.
        self._unsynced: set[Path] = set()

    @property
    def path(self) -> Path:
        """The file of batches."""
        return self._path(LOG_SUFFIX)

    @property
    def is_open(self) -> bool:
        """Whether the file is open or indexes are in memory."""
        return self._file is not None or self._offset_index is not None or bool(self._transaction_index)

    @property
    def is_loaded(self) -> bool:
        """Whether a lookup needs no disk."""
        return self._file is not None and self._offset_index is not None

    @property
    def has_open_file(self) -> bool:
        """Whether reading batches at a known position opens no file."""
        return self._file is not None

    @property
    def file(self) -> File:
        """The file of batches, opened if need be."""
        file = self._file
        if file is None:
            file = self._file = self._file_system.open(self.path)
        return file

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._offset_index
        return index if index is not None else self._load_indexes()[0]

    @property
    def time_index(self) -> TimeIndex:
        index = self._time_index
        return index if index is not None else self._load_indexes()[1]

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Read both indexes, or make them anew from the batches if one is missing or damaged."""
        with self._loading:
            offsets, times = self._offset_index, self._time_index
            if offsets is not None and times is not None:
                return offsets, times
            offsets = OffsetIndex.load(self._file_system, self._path(OFFSET_INDEX_SUFFIX), self.base_offset)
            times = TimeIndex.load(self._file_system, self._path(TIME_INDEX_SUFFIX), self.base_offset)
            if offsets is None or times is None or not self._is_plausible(offsets, times):
                # Better to find a part of the batches than none of them.
                return self._rebuild_indexes(may_stop_early=True)
            self._offset_index, self._time_index = offsets, times
            return offsets, times

    def _is_plausible(self, offsets: OffsetIndex, times: TimeIndex) -> bool:
        return self.size_bytes == 0 or (offsets.last_position < self.size_bytes and len(times) > 0)

    @property
    def transaction_index(self) -> TransactionIndex:
        """The aborted transactions; DamagedFile if the file is none of ours, which recovery finds out first."""
        index = self._transaction_index
        if index is None:
            with self._loading:
                index = self._transaction_index
                if index is None:
                    index = TransactionIndex.load(self._file_system, self._path(TRANSACTION_INDEX_SUFFIX))
                    self._transaction_index = index
        return index

    @property
    def has_no_aborted(self) -> bool:
        """Whether there is surely no aborted transaction, which is known without asking the disk."""
        index = self._transaction_index
        return self._has_no_aborted if index is None else not index

    @property
    def knows_transactions(self) -> bool:
        """Whether a lookup of aborted transactions needs no disk."""
        return self._transaction_index is not None or self._has_no_aborted

    def note_no_aborted(self) -> None:
        """There is no file of aborted transactions."""
        self._has_no_aborted = True

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp in the segment, -1 if there is none; may read the time index."""
        if self._max_timestamp == _UNKNOWN:
            self._find_max_timestamp()
        return self._max_timestamp

    @property
    def known_max_timestamp(self) -> int:
        """The same as far as it is known without a look at the disk, else -1."""
        return max(self._max_timestamp, NO_TIMESTAMP)

    def _find_max_timestamp(self) -> None:
        with self._loading:
            if self._max_timestamp != _UNKNOWN:
                return
            # Retention asks every segment for it: the indexes are not kept for that.
            was_open = self.is_open
            index = self._time_index
            if index is None:
                index = TimeIndex.load(self._file_system, self._path(TIME_INDEX_SUFFIX), self.base_offset)
            if index is None or not len(index) or not self._ends_with_latest(index):
                index = self.repair_indexes()[1]
            self._max_timestamp_offset = index.last_offset
            self._max_timestamp = index.last_timestamp
            if not was_open:
                self.unload()

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch, -1 if there is none; may read it from the disk."""
        if self.rolling_timestamp is None and self.size_bytes:
            was_open = self.is_open
            self.rolling_timestamp = next(scan_headers(self.file, 0, self.size_bytes, chunk_bytes=LOOKUP_CHUNK_BYTES))[
                1
            ].max_timestamp
            if not was_open:
                self.unload()
        return NO_TIMESTAMP if self.rolling_timestamp is None else self.rolling_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The last offset of the first batch that reaches the largest timestamp."""
        return self._max_timestamp_offset if self.max_timestamp != NO_TIMESTAMP else self.base_offset

    # Lookups.

    def position_before(self, offset: int, *, allow_blocking: bool = True) -> int:
        """A position at or before the batch that holds an offset; DamagedIndex if the index leads astray."""
        entry = self.offset_index.entry_before(offset)
        return 0 if entry is None else self._checked(entry, allow_blocking=allow_blocking)

    def batch_start_before(self, position: int, *, allow_blocking: bool = True) -> int:
        """Where a batch begins, at or before a position; DamagedIndex if the index leads astray."""
        entry = self.offset_index.entry_at_or_before(position)
        return 0 if entry is None else self._checked(entry, allow_blocking=allow_blocking)

    def offset_before_time(self, timestamp: int) -> int:
        """An offset such that nothing before it is as late as a timestamp; DamagedIndex if the index leads astray."""
        entry = self.time_index.entry_before(timestamp)
        if entry is None:
            return self.base_offset
        if not self._has_true_indexes and not self._reaches(*entry):
            if self._is_beyond_repair:
                return self.base_offset
            raise DamagedIndex(self.path)
        return entry.offset

    def header_at(self, offset: int) -> BatchHeader | None:
        """The batch that holds an offset, or the first after it; None if there is none."""
        start = self.position_before(offset)
        for _, header in scan_headers(self.file, start, self.size_bytes, chunk_bytes=LOOKUP_CHUNK_BYTES):
            if header.last_offset >= offset:
                return header
        return None

    def surely(self, lookup: Callable[..., Found], *arguments: object) -> Found:
        """The outcome of a lookup, with repaired indexes if need be; for whoever holds the log's lock."""
        try:
            return lookup(*arguments)
        except DamagedIndex:
            self.repair_indexes()
            return lookup(*arguments)

    def _checked(self, entry: OffsetPosition, *, allow_blocking: bool) -> int:
        if not self._has_true_indexes:
            found = read_bytes(self.file, entry.position, HEADER_BYTES, allow_blocking=allow_blocking)
            try:
                is_true = parse_header(found).last_offset == entry.offset
            except CorruptRecords:
                is_true = False
            if not is_true:
                if self._is_beyond_repair:
                    return 0
                raise DamagedIndex(self.path)
        return entry.position

    def _reaches(self, timestamp: int, offset: int) -> bool:
        """Whether the batch that holds an offset has this largest timestamp."""
        try:
            header = self.header_at(offset)
        except (CorruptRecords, DamagedIndex):
            return False
        return header is not None and header.base_offset <= offset and header.max_timestamp == timestamp

    def _ends_with_latest(self, index: TimeIndex) -> bool:
        """Whether the last entry of a sealed segment's time index is its latest batch: by it retention decides."""
        if self._has_true_indexes:
            return True
        if not self._reaches(index.last_timestamp, index.last_offset):
            return False
        try:
            start = self.position_before(index.last_offset)
            headers = scan_headers(self.file, start, self.size_bytes)
            return all(header.max_timestamp <= index.last_timestamp for _, header in headers)
        except (CorruptRecords, DamagedIndex):
            return False

    # Repair.

    def repair_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Rebuild indexes that do not fit; for a segment that may be active, the log's lock is needed.

        Where the batches are damaged themselves, the indexes stay, and lookups do without the entries that are wrong.
        """
        with self._loading:
            if self._has_true_indexes or self._is_beyond_repair:
                return self.offset_index, self.time_index
            _log.warning("the indexes of %s do not fit to its batches", self.path)
            try:
                return self.rebuild_indexes()
            except CorruptRecords as error:
                _log.error("the indexes of %s stay as they are: %s", self.path, error.message)
                self._is_beyond_repair = True
                return self.offset_index, self.time_index

    # Growing.

    def note_batch(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """Account for a batch in the indexes."""
        if max_timestamp > self.max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if self.rolling_timestamp is None:
            self.rolling_timestamp = max_timestamp
        if self._bytes_since_index > self._index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.append(self._max_timestamp, self._max_timestamp_offset)
            self.indexes_bytes = self._grown_indexes_bytes()
            self._bytes_since_index = 0
        self._bytes_since_index += size

    def _grown_indexes_bytes(self) -> int:
        """The size of the larger index after one more batch; the time index gets an entry for the end as well."""
        offsets, times = self.offset_index, self.time_index
        return max(offsets.size_bytes + offsets.ENTRY_BYTES, times.size_bytes + 2 * times.ENTRY_BYTES)

    def read_end(self) -> tuple[int, BatchHeader | None]:
        """Restore what appending needs, for the last segment of a log; its next offset and last batch."""
        last_entry = self.offset_index.entry_at_or_before(self.size_bytes)
        start = 0 if last_entry is None else self._checked(last_entry, allow_blocking=True)
        times = self.time_index
        is_doubted = not self._has_true_indexes and not self._is_beyond_repair
        if is_doubted and len(times) and not self._reaches(times.last_timestamp, times.last_offset):
            raise DamagedIndex(self.path)
        if start > 0 and len(times):
            # An index that lost its end must not hide what is later than its last entry.
            start = min(start, self.position_before(times.last_offset))
        with self._loading:
            self._max_timestamp = times.last_timestamp
            self._max_timestamp_offset = times.last_offset
        self.indexes_bytes = self._grown_indexes_bytes()
        self._bytes_since_index = 0
        last: BatchHeader | None = None
        for _, header in scan_headers(self.file, start, self.size_bytes):
            last = header
            if header.max_timestamp > self._max_timestamp:
                self._max_timestamp = header.max_timestamp
                self._max_timestamp_offset = header.last_offset
            self._bytes_since_index += header.size_bytes
        if self.size_bytes and self.rolling_timestamp is None:
            first = next(scan_headers(self.file, 0, self.size_bytes))[1]
            self.rolling_timestamp = first.max_timestamp
        return (last.next_offset if last else self.base_offset), last

    def clear_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Start over with empty indexes."""
        offset_index = OffsetIndex(self._file_system, self._path(OFFSET_INDEX_SUFFIX), self.base_offset)
        time_index = TimeIndex(self._file_system, self._path(TIME_INDEX_SUFFIX), self.base_offset)
        self._offset_index = offset_index
        self._time_index = time_index
        self._has_true_indexes = True
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset
        self.indexes_bytes = 0
        self._bytes_since_index = 0
        self.rolling_timestamp = None
        return offset_index, time_index

    def clear_transaction_index(self) -> None:
        """Start over without aborted transactions."""
        self._transaction_index = TransactionIndex(self._file_system, self._path(TRANSACTION_INDEX_SUFFIX))

    def rebuild_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Make offset and time index anew from the batches; other threads see them when they are complete.

        CorruptRecords, and nothing changed, if the batches are damaged.
        """
        return self._rebuild_indexes(may_stop_early=False)

    def _rebuild_indexes(self, *, may_stop_early: bool) -> tuple[OffsetIndex, TimeIndex]:
        with self._loading:
            scratch = IndexedBatches(
                self._file_system,
                self._directory,
                self.base_offset,
                self.size_bytes,
                index_interval_bytes=self._index_interval_bytes,
                suffix=self._suffix,
                is_found=False,
            )
            offsets, times = scratch.clear_indexes()
            try:
                for position, header in scan_headers(self.file, 0, self.size_bytes):
                    if not 0 <= header.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
                        raise CorruptRecords(f"offset {header.last_offset} does not belong in {self.path.name}")
                    scratch.note_batch(position, header.size_bytes, header.last_offset, header.max_timestamp)
            except CorruptRecords as error:
                if not may_stop_early:
                    raise
                _log.error("%s can be read up to a damage only: %s", self.path, error.message)
            try:
                scratch.seal()
            except DiskFull as error:
                # Whoever reads does not need the files.
                _log.warning("the indexes of %s are in memory alone: %s", self.path, error)
            self._unsynced |= scratch._unsynced
            self._offset_index, self._time_index = offsets, times
            self._has_true_indexes = True
            return offsets, times

    def seal(self) -> None:
        """Complete the time index and write all indexes; for a segment that no longer grows."""
        if self.size_bytes and self.max_timestamp != NO_TIMESTAMP:
            self.time_index.append(self._max_timestamp, self._max_timestamp_offset)
        self.write_indexes()

    def write_indexes(self) -> None:
        """Bring the index files up to date."""
        for index in (self._offset_index, self._time_index, self._transaction_index):
            if index is not None and index.write():
                self._unsynced.add(index.path)

    def take_unsynced(self) -> set[Path]:
        """The index files written since they were synced last; whoever cannot sync them gives them back."""
        taken, self._unsynced = self._unsynced, set()
        return taken

    def give_back_unsynced(self, paths: set[Path]) -> None:
        """Index files that were taken are not synced after all."""
        self._unsynced |= paths

    def unload(self) -> None:
        """Forget file and indexes of a sealed segment until they are needed again."""
        self._has_no_aborted = self.has_no_aborted
        self._file = None
        self._offset_index = None
        self._time_index = None
        self._transaction_index = None

    def _path(self, part: str) -> Path:
        return segment_path(self._directory, self.base_offset, part + self._suffix)
