"""From which offset on a segment may hold a timestamp: 12-byte entries of timestamp and offset minus base offset.

An entry says: no record before this offset, or in the batch that ends with it, is later than this timestamp. Timestamps
ascend strictly. The last entry of a closed segment gives its largest timestamp, by which retention and rolling decide.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path

from ottla.protocol.record_batch import NO_TIMESTAMP
from ottla.storage.file_system import FileSystem, append_whole

ENTRY_BYTES = 12
_ENTRY = struct.Struct(">qi")


class TimeIndex:
    """The entries of one segment; like the offset index they reach the file at flush, roll and close."""

    __slots__ = ("_file_system", "_offsets", "_timestamps", "_written", "base_offset", "path")

    def __init__(self, file_system: FileSystem, path: Path, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._file_system = file_system
        self._timestamps = array("q")
        self._offsets = array("i")
        # Entries already in the file; -1 if the file has to be written anew.
        self._written = -1

    @classmethod
    def load(cls, file_system: FileSystem, path: Path, base_offset: int) -> "TimeIndex | None":
        """The index as stored, None if the file is missing or not an index."""
        data = file_system.read_file(path)
        if data is None:
            return None
        whole = -(-len(data.rstrip(b"\0")) // ENTRY_BYTES) * ENTRY_BYTES
        if whole > len(data):
            return None
        index = cls(file_system, path, base_offset)
        for timestamp, relative in _ENTRY.iter_unpack(data[:whole]):
            index._timestamps.append(timestamp)
            index._offsets.append(relative)
        index._written = len(index._offsets) if whole == len(data) else -1
        return index

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size_bytes(self) -> int:
        return len(self._offsets) * ENTRY_BYTES

    @property
    def last_timestamp(self) -> int:
        """The largest timestamp, -1 if there is no entry."""
        return self._timestamps[-1] if self._timestamps else NO_TIMESTAMP

    @property
    def last_offset(self) -> int:
        return self.base_offset + (self._offsets[-1] if self._offsets else 0)

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry if the timestamp is a new largest one."""
        if timestamp <= self.last_timestamp:
            return
        self._timestamps.append(timestamp)
        self._offsets.append(offset - self.base_offset)

    def offset_before(self, timestamp: int) -> int:
        """An offset such that nothing before it is as late as the timestamp."""
        entry = bisect_left(self._timestamps, timestamp) - 1
        return self.base_offset + (self._offsets[entry] if entry >= 0 else 0)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or after an offset."""
        keep = bisect_right(self._offsets, offset - self.base_offset - 1)
        del self._timestamps[keep:]
        del self._offsets[keep:]
        if self._written > keep:
            self._written = -1

    def write(self) -> bool:
        """Bring the file up to date; whether there was anything to write."""
        if self._written == len(self._offsets):
            return False
        start = max(self._written, 0)
        entries = zip(self._timestamps[start:], self._offsets[start:], strict=True)
        data = b"".join(_ENTRY.pack(timestamp, offset) for timestamp, offset in entries)
        if self._written < 0:
            self._file_system.write_file(self.path, data, sync=False)
        else:
            append_whole(self._file_system, self.path, data)
        self._written = len(self._offsets)
        return True
