"""One segment of a log: a file of batches, with its indexes.

Invariants. The file holds whole batches, in ascending order of offsets, all at or above the base offset; positions and
relative offsets fit in 31 bits. Only the last segment of a log grows. `size_bytes` never counts bytes of a failed
append: they are cut off before the error is raised.

A closed segment costs nothing until it is read, see `segment_indexes`. `unverified` tells which of the batches that a
start found on the disk nobody has checked yet; only whoever changes the segment replaces it.
"""

from pathlib import Path

from ottla.protocol.compression import Buffer
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import File, FileSystem
from ottla.storage.segment_files import (
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from ottla.storage.segment_indexes import IndexedBatches
from ottla.storage.segment_scan import scan_headers
from ottla.storage.unverified_batches import UnverifiedBatches


class Segment(IndexedBatches):
    """The batches from `base_offset` on, as they come, go and change their names."""

    __slots__ = ("_has_reserve", "created_ms", "unverified")

    def __init__(
        self,
        file_system: FileSystem,
        directory: Path,
        base_offset: int,
        size_bytes: int,
        *,
        index_interval_bytes: int,
        created_ms: int,
        suffix: str = "",
        is_found: bool = False,
    ) -> None:
        super().__init__(
            file_system,
            directory,
            base_offset,
            size_bytes,
            index_interval_bytes=index_interval_bytes,
            suffix=suffix,
            is_found=is_found,
        )
        self.created_ms = created_ms
        self._has_reserve = False
        self.unverified = UnverifiedBatches(size_bytes, base_offset) if is_found and size_bytes else None

    @classmethod
    def create(
        cls,
        file_system: FileSystem,
        directory: Path,
        base_offset: int,
        *,
        index_interval_bytes: int,
        created_ms: int,
        suffix: str = "",
    ) -> "Segment":
        """A new, empty segment; files of the same name are emptied."""
        segment = cls(
            file_system,
            directory,
            base_offset,
            0,
            index_interval_bytes=index_interval_bytes,
            created_ms=created_ms,
            suffix=suffix,
        )
        file = file_system.open(segment.path, create=True)
        if file.size():
            file.truncate(0)
        segment._file = file
        segment.clear_indexes()
        segment.clear_transaction_index()
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path.name}, {self.size_bytes} bytes)"

    @property
    def modified_ms(self) -> int:
        """When the file was written last."""
        return self._file_system.modified_ms(self.path)

    def append(self, parts: tuple[Buffer, ...], size: int, last_offset: int, max_timestamp: int) -> int:
        """Write one batch given in parts; the position where it begins."""
        position = self.write(parts, size)
        self.note_batch(position, size, last_offset, max_timestamp)
        return position

    def write(self, parts: tuple[Buffer, ...], size: int) -> int:
        """Write bytes at the end, all or none; the position where they begin."""
        position = self.size_bytes
        file = self.file
        try:
            written = file.append(parts)
        except StorageError:
            file.truncate(position)
            raise
        if written != size:
            file.truncate(position)
            raise DiskFull(self._file_system.root, "write", self.path, f"the disk took {written} of {size} bytes")
        self.size_bytes = position + size
        return position

    def reserve(self, size: int) -> None:
        """Set space aside until the segment is sealed."""
        self.file.reserve(size)
        self._has_reserve = True

    def seal(self) -> None:
        """Complete the indexes of a segment that no longer grows, and give back space that was set aside for it."""
        if self._has_reserve:
            self.file.truncate(self.size_bytes)
            self._has_reserve = False
        super().seal()

    def truncate_to(self, offset: int) -> None:
        """Cut off the batch that holds an offset and all after it."""
        position = self.surely(self.position_before, offset)
        for batch_position, header in scan_headers(self.file, position, self.size_bytes):
            if header.last_offset >= offset:
                self.cut_at(batch_position, header.base_offset)
                return

    def cut_at(self, position: int, offset: int) -> None:
        """Cut off everything from a position on, where the batch of an offset begins or would begin."""
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.file.truncate(position)
        self.size_bytes = position
        if self.unverified is not None:
            self.unverified = self.unverified.cut_to(position)
        if position == 0:
            self.rolling_timestamp = None
        self.surely(self.read_end)

    def open_for_sync(self) -> File:
        """The file of batches; a sealed segment that was unloaded stays so."""
        return self._file or self._file_system.open(self.path)

    def rename(self, suffix: str) -> None:
        """Give all files another suffix ("" is none), the file of batches last."""
        self._unsynced = set()
        renames = [
            (self._path(part), segment_path(self._directory, self.base_offset, part + suffix))
            for part in SEGMENT_SUFFIXES
        ]
        for source, target in reversed(renames):
            if self._file_system.file_size(source) is not None:
                self._file_system.rename(source, target)
        self._suffix = suffix
        for index, part in (
            (self._offset_index, OFFSET_INDEX_SUFFIX),
            (self._time_index, TIME_INDEX_SUFFIX),
            (self._transaction_index, TRANSACTION_INDEX_SUFFIX),
        ):
            if index is not None:
                index.path = self._path(part)

    def become_swap(self) -> None:
        """From `.cleaned` to `.swap`: once the directory is synced, a crash leads to the new segment."""
        self.rename(SWAP_SUFFIX)

    def remove_files(self) -> None:
        """Remove all files; reads under way in other threads end normally."""
        self._file = None
        for suffix in SEGMENT_SUFFIXES:
            self._file_system.remove(self._path(suffix))
