"""The index files of a segment: offset index, time index, and the aborted transactions.

They are read on first use, which may wait for the disk, and `unload` forgets them again. New entries are in memory only
until `write`, and `take_unsynced` tells which files have been written since they were synced last. Whether entries are
right is for the segment to decide, which has the batches that they point to.

Readers in several threads load and look up at the same time. Entries are added, dropped and written by one caller, who
holds the log's lock.
"""

import threading
from pathlib import Path

from ottla.storage.offset_index import OffsetIndex
from ottla.storage.segment_files import (
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    SegmentFiles,
)
from ottla.storage.time_index import TimeIndex
from ottla.storage.transaction_index import TransactionIndex


class SegmentIndexes:
    """The indexes of one segment, as far as they are in memory."""

    __slots__ = (
        "_files",
        "_has_no_aborted",
        "_transactions",
        "_unsynced",
        "loading",
        "offsets",
        "times",
    )

    def __init__(self, files: SegmentFiles) -> None:
        self._files = files
        # None unless in memory, and then both are.
        self.offsets: OffsetIndex | None = None
        self.times: TimeIndex | None = None
        self._transactions: TransactionIndex | None = None
        # Known even while the index is not in memory: readers of a log without aborts do not ask the disk.
        self._has_no_aborted = False
        # Threads that need the indexes of a sealed segment at the same time read them once.
        self.loading = threading.RLock()
        self._unsynced: set[Path] = set()

    # Offsets and times.

    def read(self) -> tuple[OffsetIndex, TimeIndex] | None:
        """Both as their files have them, None if one is missing or damaged; nothing is kept."""
        files = self._files
        offsets = OffsetIndex.load(files.file_system, files.path(OFFSET_INDEX_SUFFIX), files.base_offset)
        times = self.read_times()
        return None if offsets is None or times is None else (offsets, times)

    def read_times(self) -> TimeIndex | None:
        """The time index as its file has it, None if that is missing or damaged; it is not kept."""
        files = self._files
        return TimeIndex.load(files.file_system, files.path(TIME_INDEX_SUFFIX), files.base_offset)

    def clear(self) -> None:
        """Start over with empty offset and time indexes."""
        files = self._files
        self.offsets = OffsetIndex(files.file_system, files.path(OFFSET_INDEX_SUFFIX), files.base_offset)
        self.times = TimeIndex(files.file_system, files.path(TIME_INDEX_SUFFIX), files.base_offset)

    def replace(self, other: "SegmentIndexes") -> tuple[OffsetIndex, TimeIndex]:
        """Take over offsets and times that were rebuilt for the same segment."""
        assert other.offsets is not None, "there is nothing to take over"
        assert other.times is not None, "there is nothing to take over"
        self._unsynced |= other._unsynced
        self.offsets, self.times = other.offsets, other.times
        return other.offsets, other.times

    # Transactions.

    @property
    def transactions(self) -> TransactionIndex:
        """The aborted transactions; DamagedFile if the file is not an index, which recovery would have found first."""
        index = self._transactions
        if index is None:
            with self.loading:
                index = self._transactions
                if index is None:
                    files = self._files
                    index = TransactionIndex.load(files.file_system, files.path(TRANSACTION_INDEX_SUFFIX))
                    self._transactions = index
        return index

    @property
    def has_no_aborted(self) -> bool:
        """Whether there is surely no aborted transaction, which is known without asking the disk."""
        index = self._transactions
        return self._has_no_aborted if index is None else not index

    @property
    def knows_transactions(self) -> bool:
        """Whether a lookup of aborted transactions needs no disk."""
        return self._transactions is not None or self._has_no_aborted

    def note_no_aborted(self) -> None:
        """There is no file of aborted transactions."""
        self._has_no_aborted = True

    def clear_transactions(self) -> None:
        """Start over without aborted transactions."""
        files = self._files
        self._transactions = TransactionIndex(files.file_system, files.path(TRANSACTION_INDEX_SUFFIX))

    # Files.

    @property
    def are_in_memory(self) -> bool:
        """Whether `unload` would free anything."""
        return self.offsets is not None or bool(self._transactions)

    def write(self) -> None:
        """Bring the files up to date."""
        for index in (self.offsets, self.times, self._transactions):
            if index is not None and index.write():
                self._unsynced.add(index.path)

    def take_unsynced(self) -> set[Path]:
        """Take the files written since they were synced last; a caller that cannot sync them gives them back."""
        taken, self._unsynced = self._unsynced, set()
        return taken

    def give_back_unsynced(self, paths: set[Path]) -> None:
        """Return files that could not be synced."""
        self._unsynced |= paths

    def follow_rename(self, files: SegmentFiles) -> None:
        """Use the names that the files have been given."""
        self._files = files
        for index, part in (
            (self.offsets, OFFSET_INDEX_SUFFIX),
            (self.times, TIME_INDEX_SUFFIX),
            (self._transactions, TRANSACTION_INDEX_SUFFIX),
        ):
            if index is not None:
                index.path = files.path(part)

    def unload(self) -> None:
        """Forget what was read until it is needed again; for a segment that no longer grows."""
        self._has_no_aborted = self.has_no_aborted
        self.offsets = None
        self.times = None
        self._transactions = None
