"""The aborted transactions of a segment, for consumers that read committed records only.

An entry belongs to the segment that holds the abort marker: version, producer id, first offset, marker's offset, and
the last stable offset at that moment. Entries are few; they are kept in memory once loaded. Without aborts there is no
file.
"""

import struct
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

    def append(self, transaction: AbortedTransaction) -> None:
        """Add the transaction of a marker just appended."""
        self.entries.append(transaction)

    def overlapping(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those with a record in the range."""
        return [
            entry for entry in self.entries if entry.last_offset >= start_offset and entry.first_offset < end_offset
        ]

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
