"""Where in a segment an offset is: one entry for every `index.interval.bytes` of log.

An entry is 8 bytes, offset minus base offset and file position, ascending in both. It says: the batch at this position
ends with this offset. Entries are held in memory and reach the file when the segment is flushed, rolled or closed; what
a crash loses is rebuilt from the log, because recovery scans everything that was not flushed.

Kafka preallocates index files, so that a file left by a crash ends in zeros; they are not entries.
"""

import sys
from array import array
from bisect import bisect_right
from pathlib import Path

from ottla.storage.file_system import FileSystem, append_whole

ENTRY_BYTES = 8
MAX_RELATIVE_OFFSET = 2**31 - 1


class OffsetIndex:
    """The entries of one segment."""

    __slots__ = ("_file_system", "_offsets", "_positions", "_written", "base_offset", "path")

    def __init__(self, file_system: FileSystem, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._file_system = file_system
        self._offsets = array("I")
        self._positions = array("I")
        # Entries already in the file; -1 if the file has to be written anew.
        self._written = -1

    @classmethod
    def load(cls, file_system: FileSystem, path: Path, base_offset: int) -> "OffsetIndex | None":
        """The index as stored, None if the file is missing or not an index."""
        data = file_system.read_file(path)
        if data is None:
            return None
        stripped = len(data.rstrip(b"\0"))
        whole = -(-stripped // ENTRY_BYTES) * ENTRY_BYTES
        if whole > len(data):
            return None
        words = array("I", data[:whole])
        if sys.byteorder == "little":
            words.byteswap()
        index = cls(file_system, path, base_offset)
        index._offsets = words[0::2]
        index._positions = words[1::2]
        # Preallocated zeros have to go before anything is appended.
        index._written = len(index._offsets) if whole == len(data) else -1
        return index

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size_bytes(self) -> int:
        return len(self._offsets) * ENTRY_BYTES

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, the base offset if there is none."""
        return self.base_offset + (self._offsets[-1] if self._offsets else 0)

    @property
    def last_position(self) -> int:
        return self._positions[-1] if self._positions else 0

    def append(self, offset: int, position: int) -> None:
        """Add an entry; offsets and positions must ascend."""
        relative = offset - self.base_offset
        if self._offsets and relative <= self._offsets[-1]:
            raise ValueError(f"offset {offset} is not above the last indexed one, {self.last_offset}")
        self._offsets.append(relative)
        self._positions.append(position)

    def position_before(self, offset: int) -> int:
        """A position at or before the batch that holds an offset."""
        # The entry whose offset equals the one wanted still points at the batch that ends with it.
        entry = bisect_right(self._offsets, offset - self.base_offset) - 1 if offset >= self.base_offset else -1
        return self._positions[entry] if entry >= 0 else 0

    def last_batch_start(self, position: int) -> int:
        """The greatest indexed position that is not above the one given: a batch begins there."""
        entry = bisect_right(self._positions, position) - 1
        return self._positions[entry] if entry >= 0 else 0

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of batches that end at or after an offset."""
        relative = offset - self.base_offset
        keep = 0 if relative <= 0 else bisect_right(self._offsets, relative - 1)
        del self._offsets[keep:]
        del self._positions[keep:]
        if self._written > keep:
            self._written = -1

    def write(self) -> bool:
        """Bring the file up to date; whether there was anything to write."""
        if self._written == len(self._offsets):
            return False
        start = max(self._written, 0)
        words = array("I", bytes((len(self._offsets) - start) * ENTRY_BYTES))
        words[0::2] = self._offsets[start:]
        words[1::2] = self._positions[start:]
        if sys.byteorder == "little":
            words.byteswap()
        data = words.tobytes()
        if self._written < 0:
            self._file_system.write_file(self.path, data, sync=False)
        else:
            append_whole(self._file_system, self.path, data)
        self._written = len(self._offsets)
        return True
