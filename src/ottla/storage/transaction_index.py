"""The aborted transactions of a segment, for consumers that read committed records only.

An entry belongs to the segment that holds the abort marker: version, producer id, first offset, marker's offset, and
the last stable offset at that moment: the first offset of the oldest transaction that was still open, or else the one
after the marker. Both grow from entry to entry. All transactions that begin before the last stable offset of an entry
have ended with it: a search for those of a range needs to go no further. Without aborts there is no file.
"""

import struct
from bisect import bisect_left
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem

_ENTRY = struct.Struct(">hqqqq")
ENTRY_BYTES = _ENTRY.size
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """A producer's records from `first_offset` to the marker at `last_offset` are void."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_LAST_OFFSET = attrgetter("last_offset")


class TransactionIndex:
    """The entries of one segment, in the order of their markers."""

    __slots__ = ("_file_system", "_written", "entries", "path")

    def __init__(self, file_system: FileSystem, path: Path) -> None:
        self.path = path
        self.entries: list[AbortedTransaction] = []
        self._file_system = file_system
        self._written = -1

    @classmethod
    def load(cls, file_system: FileSystem, path: Path) -> "TransactionIndex":
        """The index as stored; DamagedFile if it is none."""
        index = cls(file_system, path)
        data = file_system.read_file(path)
        if data is None:
            return index
        if len(data) % ENTRY_BYTES:
            raise DamagedFile(path, f"{len(data)} bytes are no multiple of {ENTRY_BYTES}")
        for version, *fields in _ENTRY.iter_unpack(data):
            if version != _VERSION:
                raise DamagedFile(path, f"unknown entry version {version}")
            index.entries.append(AbortedTransaction(*fields))
        index._written = len(index.entries)
        return index

    def __len__(self) -> int:
        return len(self.entries)

    def append(self, transaction: AbortedTransaction) -> None:
        """Add the transaction of a marker just appended."""
        self.entries.append(transaction)

    def overlapping(self, start_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Those with a record in the range, and whether later segments have no others."""
        entries = self.entries
        found = []
        for number in range(bisect_left(entries, start_offset, key=_LAST_OFFSET), len(entries)):
            entry = entries[number]
            if entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker is at or after an offset."""
        self.entries = [entry for entry in self.entries if entry.last_offset < offset]
        self._written = -1

    def write(self) -> bool:
        """Bring the file up to date; whether there was anything to write."""
        if self._written == len(self.entries):
            return False
        if not self.entries and self._file_system.file_size(self.path) is None:
            self._written = 0
            return False
        data = b"".join(_ENTRY.pack(_VERSION, *entry) for entry in self.entries)
        self._file_system.write_file(self.path, data, sync=False)
        self._written = len(self.entries)
        return True
