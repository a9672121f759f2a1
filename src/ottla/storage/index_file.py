"""What the offset index and the time index of a segment share: entries in memory, and the file that holds them.

Entries reach the file when the segment is flushed, rolled or closed. What a crash loses is rebuilt from the log, since
recovery scans everything that was not flushed. Kafka preallocates index files, so that a file left by a crash ends in
zeros; they are not entries.

The owner of the segment adds and drops entries; other threads look them up. An entry is a key in one column, by which
it is found, and a value in the other. The value is stored before the key, and a column that shrinks is replaced by a
new one.
"""

import operator
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from itertools import pairwise, starmap
from pathlib import Path
from typing import ClassVar, Self

from ottla.storage.file_system import FileSystem, append_whole

Columns = tuple["array[int]", "array[int]"]


class IndexFile(ABC):
    """The entries of one segment, ascending by key."""

    __slots__ = ("_columns", "_file_system", "_written", "base_offset", "path")

    ENTRY_BYTES: ClassVar[int]

    def __init__(self, file_system: FileSystem, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._file_system = file_system
        self._columns = self._decode(b"")
        # Entries already in the file; -1 if the file must be rewritten.
        self._written = -1

    @classmethod
    def load(cls, file_system: FileSystem, path: Path, base_offset: int) -> Self | None:
        """Load the index from its file; None if the file is missing or not an index."""
        data = file_system.read_file(path)
        if data is None:
            return None
        whole = -(-len(data.rstrip(b"\0")) // cls.ENTRY_BYTES) * cls.ENTRY_BYTES
        if whole > len(data):
            return None
        index = cls(file_system, path, base_offset)
        index._columns = cls._decode(data[:whole])
        if not all(map(_ascends, index._columns)):
            return None
        # Preallocated zeros have to go before anything is appended.
        index._written = len(index) if whole == len(data) else -1
        return index

    def __len__(self) -> int:
        return len(self._columns[0])

    @property
    def size_bytes(self) -> int:
        return len(self) * self.ENTRY_BYTES

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, the base offset if there is none."""
        offsets = self._offsets()
        return self.base_offset + (offsets[-1] if offsets else 0)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of batches that end at or after an offset."""
        keep = bisect_left(self._offsets(), offset - self.base_offset)
        keys, values = self._columns
        self._columns = keys[:keep], values[:keep]
        if self._written > keep:
            self._written = -1

    def write(self) -> bool:
        """Bring the file up to date; whether there was anything to write."""
        count = len(self)
        if self._written == count:
            return False
        data = self._encode(max(self._written, 0))
        if self._written < 0:
            self._file_system.write_file(self.path, data, sync=False)
        else:
            append_whole(self._file_system, self.path, data)
        self._written = count
        return True

    def _add(self, key: int, value: int) -> None:
        keys, values = self._columns
        values.append(value)
        keys.append(key)

    @abstractmethod
    def _offsets(self) -> "array[int]":
        """The column of offsets, relative to the base offset."""

    @staticmethod
    @abstractmethod
    def _decode(data: bytes) -> Columns:
        """The entries in bytes of a file."""

    @abstractmethod
    def _encode(self, start: int) -> bytes:
        """The bytes of the entries from a number on."""


def _ascends(column: "array[int]") -> bool:
    return all(starmap(operator.lt, pairwise(column)))
