"""The aborted transactions of a segment, for consumers that read committed records only.

An entry belongs to the segment that holds the abort marker: version, producer id, first offset, marker's offset, and
the last stable offset at that moment: the first offset of the oldest transaction that was still open, or else the one
after the marker. Both grow from entry to entry. All transactions that begin before the last stable offset of an entry
have ended with it, so a search for those of a range can stop there. Without aborts there is no file.

A transaction that stays open for long holds the last stable offset back for thousands of entries. So that a fetch does
not look at all of them, the least first offset of each run of entries is kept, and runs that begin after the range are
skipped.

One caller at a time adds, drops and writes entries. Others search meanwhile: what they need is replaced in one step,
and the least first offset of a run is lowered before its entry is added.
"""

import struct
from bisect import bisect_left
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem, append_whole

_ENTRY = struct.Struct(">hqqqq")
ENTRY_BYTES = _ENTRY.size
_VERSION = 0
_RUN_ENTRIES = 256


class AbortedTransaction(NamedTuple):
    """A producer's records from `first_offset` to the marker at `last_offset` are void."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_LAST_OFFSET = attrgetter("last_offset")
_LAST_STABLE_OFFSET = attrgetter("last_stable_offset")


class TransactionIndex:
    """The entries of one segment, in the order of their markers."""

    __slots__ = ("_columns", "_file_system", "_written", "path")

    def __init__(self, file_system: FileSystem, path: Path) -> None:
        self.path = path
        # The entries, and the least first offset of each run of them.
        self._columns: tuple[list[AbortedTransaction], list[int]] = ([], [])
        self._file_system = file_system
        # Entries already in the file; -1 if the file must be rewritten.
        self._written = -1

    @classmethod
    def load(cls, file_system: FileSystem, path: Path) -> "TransactionIndex":
        """Load the index from its file; DamagedFile if it is not one."""
        index = cls(file_system, path)
        data = file_system.read_file(path)
        if data is None:
            return index
        if len(data) % ENTRY_BYTES:
            raise DamagedFile(path, f"{len(data)} bytes are not a multiple of {ENTRY_BYTES}")
        for version, *fields in _ENTRY.iter_unpack(data):
            if version != _VERSION:
                raise DamagedFile(path, f"unknown entry version {version}")
            index.append(AbortedTransaction(*fields))
        index._written = len(index)
        return index

    def __len__(self) -> int:
        return len(self._columns[0])

    @property
    def entries(self) -> list[AbortedTransaction]:
        return self._columns[0]

    def append(self, transaction: AbortedTransaction) -> None:
        """Add the transaction of a marker just appended."""
        entries, least = self._columns
        if len(entries) % _RUN_ENTRIES == 0:
            least.append(transaction.first_offset)
        elif transaction.first_offset < least[-1]:
            least[-1] = transaction.first_offset
        entries.append(transaction)

    def overlapping(self, start_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Find those with a record in the range; also tells whether later segments have no more."""
        entries, least = self._columns
        count = len(entries)
        number = bisect_left(entries, start_offset, hi=count, key=_LAST_OFFSET)
        decisive = bisect_left(entries, end_offset, lo=number, hi=count, key=_LAST_STABLE_OFFSET)
        end = min(decisive + 1, count)
        found: list[AbortedTransaction] = []
        while number < end:
            run = number // _RUN_ENTRIES
            following = min((run + 1) * _RUN_ENTRIES, end)
            if least[run] < end_offset:
                found += [entry for entry in entries[number:following] if entry.first_offset < end_offset]
            number = following
        return found, decisive < count

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker is at or after an offset."""
        keep = bisect_left(self.entries, offset, key=_LAST_OFFSET)
        entries = self.entries[:keep]
        least = [
            min(entry.first_offset for entry in entries[run : run + _RUN_ENTRIES])
            for run in range(0, keep, _RUN_ENTRIES)
        ]
        self._columns = entries, least
        if self._written > keep:
            self._written = -1

    def write(self) -> bool:
        """Bring the file up to date; whether there was anything to write."""
        entries, written = self.entries, self._written
        if written == len(entries):
            return False
        if not entries and self._file_system.file_size(self.path) is None:
            self._written = 0
            return False
        data = b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries[max(written, 0) :])
        if written > 0:
            append_whole(self._file_system, self.path, data)
        else:
            self._file_system.write_file(self.path, data, sync=False)
        self._written = len(entries)
        return True
