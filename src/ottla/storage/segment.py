"""One segment of a log: a file of batches, with the indexes that lead to them.

Invariants. The file holds whole batches, in ascending order of offsets, all at or above the base offset; positions and
relative offsets fit in 31 bits. Only the last segment of a log grows. `size_bytes` never counts bytes of a failed
append: they are cut off before the error is raised.

A closed segment costs nothing until it is read: its file is opened and its indexes are read on first use, which may
wait for the disk, and `unload` forgets them again. Missing or damaged indexes are then rebuilt from the batches; their
files are written when there is space for them.

What a start finds on the disk is not trusted. `unverified` tells which batches have not been checked yet; only the
holder of the log's lock replaces it. An index entry that was read from a file counts only if the batch it points to
agrees; otherwise DamagedIndex is raised, and `repair_indexes` is due. Where the batches themselves are damaged, wrong
entries cannot be repaired, and lookups begin at the start of the file.

Readers in several threads load and look up at the same time. One caller at a time, who holds the log's lock, appends,
truncates and renames.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import HEADER_BYTES, NO_TIMESTAMP, BatchHeader, parse_header
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedIndex, DiskFull, StorageError
from ottla.storage.file_system import File
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex, OffsetPosition
from ottla.storage.segment_files import LOG_SUFFIX, SWAP_SUFFIX, SegmentFiles
from ottla.storage.segment_indexes import SegmentIndexes
from ottla.storage.segment_scan import LOOKUP_CHUNK_BYTES, read_bytes, scan_headers
from ottla.storage.time_index import TimeIndex
from ottla.storage.transaction_index import TransactionIndex
from ottla.storage.unverified_batches import UnverifiedBatches

_log = logging.getLogger(__name__)

Found = TypeVar("Found")

_UNKNOWN = -2


class Segment:
    """The batches from `base_offset` on: appending, finding, truncating and renaming them."""

    __slots__ = (
        "_bytes_since_index",
        "_file",
        "_files",
        "_has_reserve",
        "_has_true_indexes",
        "_index_interval_bytes",
        "_indexes",
        "_is_beyond_repair",
        "_max_timestamp",
        "_max_timestamp_offset",
        "base_offset",
        "created_ms",
        "has_unsynced_cut",
        "indexes_bytes",
        "rolling_timestamp",
        "size_bytes",
        "unverified",
    )

    def __init__(
        self,
        files: SegmentFiles,
        size_bytes: int,
        *,
        index_interval_bytes: int,
        created_ms: int,
        is_found: bool = False,
    ) -> None:
        """`is_found` if the files were on the disk before, and nothing in them has been checked."""
        self.base_offset = base_offset = files.base_offset
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        # The size of the larger of the two indexes, to compare with segment.index.bytes.
        self.indexes_bytes = 0
        # The largest timestamp of the first batch: the clock by which the segment is rolled. None until known.
        self.rolling_timestamp: int | None = None
        # Whether something was cut off since the last sync: a power cut would bring it back.
        self.has_unsynced_cut = False
        self.unverified = UnverifiedBatches(size_bytes, base_offset) if is_found and size_bytes else None
        self._files = files
        self._file: File | None = None
        self._has_reserve = False
        self._indexes = SegmentIndexes(files)
        # Whether entries need no check; and whether wrong ones cannot be repaired.
        self._has_true_indexes = not is_found
        self._is_beyond_repair = False
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_index = 0
        self._max_timestamp = _UNKNOWN
        self._max_timestamp_offset = base_offset

    @classmethod
    def create(cls, files: SegmentFiles, *, index_interval_bytes: int, created_ms: int) -> "Segment":
        """Create an empty segment; files of the same name are emptied."""
        segment = cls(files, 0, index_interval_bytes=index_interval_bytes, created_ms=created_ms)
        file = files.file_system.open(segment.path, create=True)
        if file.size():
            file.truncate(0)
        segment._file = file
        segment.clear_indexes()
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path.name}, {self.size_bytes} bytes)"

    # What is known.

    @property
    def path(self) -> Path:
        """The file of batches."""
        return self._files.path(LOG_SUFFIX)

    @property
    def is_open(self) -> bool:
        """Whether the file is open or indexes are in memory."""
        return self._file is not None or self._indexes.are_in_memory

    @property
    def is_loaded(self) -> bool:
        """Whether a lookup needs no disk."""
        return self._file is not None and self._indexes.offsets is not None

    @property
    def has_open_file(self) -> bool:
        """Whether reading batches at a known position opens no file."""
        return self._file is not None

    @property
    def file(self) -> File:
        """The file of batches, opened if need be."""
        file = self._file
        if file is None:
            file = self._file = self._files.file_system.open(self.path)
        return file

    @property
    def modified_ms(self) -> int:
        """When the file was written last."""
        return self._files.file_system.modified_ms(self.path)

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._indexes.offsets
        return index if index is not None else self._load_indexes()[0]

    @property
    def time_index(self) -> TimeIndex:
        index = self._indexes.times
        return index if index is not None else self._load_indexes()[1]

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Read both indexes, or rebuild them from the batches if one is missing or damaged."""
        indexes = self._indexes
        with indexes.loading:
            offsets, times = indexes.offsets, indexes.times
            if offsets is not None and times is not None:
                return offsets, times
            found = indexes.read()
            if found is None or not self._is_plausible(*found):
                # Better to find a part of the batches than none of them.
                return self._rebuild_indexes(may_stop_early=True)
            indexes.offsets, indexes.times = found
            return found

    def _is_plausible(self, offsets: OffsetIndex, times: TimeIndex) -> bool:
        return self.size_bytes == 0 or (offsets.last_position < self.size_bytes and len(times) > 0)

    @property
    def transaction_index(self) -> TransactionIndex:
        """The aborted transactions; may read the file."""
        return self._indexes.transactions

    @property
    def has_no_aborted(self) -> bool:
        """Whether there is surely no aborted transaction, which is known without asking the disk."""
        return self._indexes.has_no_aborted

    @property
    def knows_transactions(self) -> bool:
        """Whether a lookup of aborted transactions needs no disk."""
        return self._indexes.knows_transactions

    def note_no_aborted(self) -> None:
        """There is no file of aborted transactions."""
        self._indexes.note_no_aborted()

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp in the segment, -1 if there is none; may read the time index."""
        if self._max_timestamp == _UNKNOWN:
            self._find_max_timestamp()
        return self._max_timestamp

    @property
    def known_max_timestamp(self) -> int:
        """The largest timestamp if it is known without reading the disk, else -1."""
        return max(self._max_timestamp, NO_TIMESTAMP)

    def _find_max_timestamp(self) -> None:
        with self._indexes.loading:
            if self._max_timestamp != _UNKNOWN:
                return
            # Retention asks every segment for it, so the indexes are not kept.
            was_open = self.is_open
            index = self._indexes.times
            if index is None:
                index = self._indexes.read_times()
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
            _, first = next(scan_headers(self.file, 0, self.size_bytes, chunk_bytes=LOOKUP_CHUNK_BYTES))
            self.rolling_timestamp = first.max_timestamp
            if not was_open:
                self.unload()
        return NO_TIMESTAMP if self.rolling_timestamp is None else self.rolling_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The last offset of the first batch that reaches the largest timestamp."""
        return self._max_timestamp_offset if self.max_timestamp != NO_TIMESTAMP else self.base_offset

    # Lookups.

    def position_before(self, offset: int, *, allow_blocking: bool = True) -> int:
        """A position at or before the batch that holds an offset; DamagedIndex if the index is wrong."""
        entry = self.offset_index.entry_before(offset)
        return 0 if entry is None else self._checked(entry, allow_blocking=allow_blocking)

    def batch_start_before(self, position: int, *, allow_blocking: bool = True) -> int:
        """Where a batch begins, at or before a position; DamagedIndex if the index is wrong."""
        entry = self.offset_index.entry_at_or_before(position)
        return 0 if entry is None else self._checked(entry, allow_blocking=allow_blocking)

    def offset_before_time(self, timestamp: int) -> int:
        """An offset such that nothing before it is as late as a timestamp; DamagedIndex if the index is wrong."""
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

    def look_up(self, lookup: Callable[..., Found], *arguments: object) -> Found:
        """Look something up, and repair the indexes if they are damaged; the caller holds the log's lock."""
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
        """Whether the last entry of a sealed segment's time index is its latest batch, by which retention decides."""
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

    # Growing and shrinking.

    def write(self, parts: Sequence[Buffer], size: int) -> int:
        """Write bytes at the end, all or none; the position where they begin."""
        position = self.size_bytes
        file = self.file
        try:
            written = file.append(parts)
        except StorageError:
            self._take_back(file)
            raise
        if written != size:
            self._take_back(file)
            raise DiskFull(self._files.file_system.root, "write", self.path, f"the disk took {written} of {size} bytes")
        self.size_bytes = position + size
        return position

    def _take_back(self, file: File) -> None:
        """Cut off what a failed write may have left."""
        self.has_unsynced_cut = True
        file.truncate(self.size_bytes)

    def reserve(self, size: int) -> None:
        """Set space aside until the segment is sealed."""
        self.file.reserve(size)
        self._has_reserve = True

    def note_batch(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """Account for a batch in the indexes."""
        if self._max_timestamp == _UNKNOWN:
            self._find_max_timestamp()
        if max_timestamp > self._max_timestamp:
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
        with self._indexes.loading:
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

    def seal(self) -> None:
        """Complete and write the indexes of a segment that no longer grows, and give back space set aside for it."""
        if self._has_reserve:
            self.file.truncate(self.size_bytes)
            self._has_reserve = False
        if self.size_bytes and self.max_timestamp != NO_TIMESTAMP:
            self.time_index.append(self._max_timestamp, self._max_timestamp_offset)
        self.write_indexes()

    def truncate_to(self, offset: int) -> None:
        """Cut off the batch that holds an offset and all after it."""
        position = self.look_up(self.position_before, offset)
        for batch_position, header in scan_headers(self.file, position, self.size_bytes):
            if header.last_offset >= offset:
                self.cut_at(batch_position, header.base_offset)
                return

    def cut_at(self, position: int, offset: int) -> None:
        """Cut off everything from a position on, where the batch of an offset begins or would begin."""
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.has_unsynced_cut = True
        self.file.truncate(position)
        self.size_bytes = position
        if self.unverified is not None:
            self.unverified = self.unverified.cut_to(position)
        if position == 0:
            self.rolling_timestamp = None
        self.look_up(self.read_end)

    # Rebuilding indexes.

    def repair_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Rebuild wrong indexes; for a segment that may be active, the log's lock is needed.

        Where the batches themselves are damaged, the indexes stay, and lookups ignore the entries that are wrong.
        """
        with self._indexes.loading:
            if self._has_true_indexes or self._is_beyond_repair:
                return self.offset_index, self.time_index
            _log.warning("the indexes of %s do not match its batches", self.path)
            try:
                return self._rebuild_indexes(may_stop_early=False)
            except CorruptRecords as error:
                _log.error("the indexes of %s stay as they are: %s", self.path, error.message)
                self._is_beyond_repair = True
                return self.offset_index, self.time_index

    def clear_indexes(self) -> None:
        """Start over with empty indexes, as for a segment without batches."""
        self._clear_positions()
        self._indexes.clear_transactions()

    def _clear_positions(self) -> None:
        self._indexes.clear()
        self._has_true_indexes = True
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset
        self.indexes_bytes = 0
        self._bytes_since_index = 0
        self.rolling_timestamp = None

    def _rebuild_indexes(self, *, may_stop_early: bool) -> tuple[OffsetIndex, TimeIndex]:
        """Rebuild the offset and time index from the batches; other threads see them when they are complete.

        At a damaged batch they end if `may_stop_early`; otherwise CorruptRecords is raised and nothing has changed.
        """
        with self._indexes.loading:
            # A twin with the same files grows from the start; readers see its indexes when they are complete.
            twin = Segment(
                self._files,
                self.size_bytes,
                index_interval_bytes=self._index_interval_bytes,
                created_ms=self.created_ms,
            )
            # Headers alone do not show aborted transactions: their index stays.
            twin._clear_positions()
            try:
                for position, header in scan_headers(self.file, 0, self.size_bytes):
                    if not 0 <= header.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
                        raise CorruptRecords(f"offset {header.last_offset} does not belong in {self.path.name}")
                    twin.note_batch(position, header.size_bytes, header.last_offset, header.max_timestamp)
            except CorruptRecords as error:
                if not may_stop_early:
                    raise
                _log.error("%s can be read only up to its damage: %s", self.path, error.message)
            try:
                twin.seal()
            except DiskFull as error:
                # Readers do not need the files.
                _log.warning("the indexes of %s are in memory only: %s", self.path, error)
            rebuilt = self._indexes.replace(twin._indexes)
            self._has_true_indexes = True
            return rebuilt

    # Files.

    def open_for_sync(self) -> File:
        """The file of batches; a sealed segment that was unloaded stays so."""
        return self._file or self._files.file_system.open(self.path)

    def write_indexes(self) -> None:
        """Bring the index files up to date."""
        self._indexes.write()

    def take_unsynced(self) -> set[Path]:
        """Take the index files written since they were synced last; a caller that cannot sync them gives them back."""
        return self._indexes.take_unsynced()

    def give_back_unsynced(self, paths: set[Path]) -> None:
        """Return index files that could not be synced."""
        self._indexes.give_back_unsynced(paths)

    def rename(self, suffix: str) -> None:
        """Give all files another suffix ("" is none), the file of batches last."""
        # A later sync would look for them under their old names.
        self._indexes.take_unsynced()
        self._files = self._files.rename(suffix)
        self._indexes.follow_rename(self._files)

    def become_swap(self) -> None:
        """From `.cleaned` to `.swap`: once the directory is synced, a crash leads to the new segment."""
        self.rename(SWAP_SUFFIX)

    def unload(self) -> None:
        """Forget file and indexes of a sealed segment until they are needed again."""
        self._indexes.unload()
        self._file = None

    def remove_files(self) -> None:
        """Remove all files; reads under way in other threads end normally."""
        self._file = None
        self._files.remove()
