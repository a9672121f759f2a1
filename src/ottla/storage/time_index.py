"""From which offset on a segment may hold a timestamp: 12-byte entries of timestamp and offset minus base offset.

An entry says: no record before this offset, or in the batch that ends with it, is later than this timestamp. Timestamps
ascend strictly. The last entry of a closed segment gives its largest timestamp, by which retention and rolling decide.
"""

import struct
from array import array
from bisect import bisect_left
from typing import NamedTuple

from ottla.protocol.record_batch import NO_TIMESTAMP
from ottla.storage.index_file import Columns, IndexFile

_ENTRY = struct.Struct(">qi")


class TimestampEntry(NamedTuple):
    """The batch that holds an offset is the first to reach a timestamp, its largest."""

    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    """The entries of one segment: an offset for a timestamp."""

    __slots__ = ()

    ENTRY_BYTES = _ENTRY.size

    @property
    def last_timestamp(self) -> int:
        """The largest timestamp, -1 if there is no entry."""
        timestamps = self._columns[0]
        return timestamps[-1] if timestamps else NO_TIMESTAMP

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry if the timestamp is a new largest one."""
        if timestamp > self.last_timestamp:
            self._add(timestamp, offset - self.base_offset)

    def entry_before(self, timestamp: int) -> TimestampEntry | None:
        """The last entry below a timestamp: nothing before its offset is as late as the timestamp."""
        timestamps, offsets = self._columns
        entry = bisect_left(timestamps, timestamp) - 1
        return TimestampEntry(timestamps[entry], self.base_offset + offsets[entry]) if entry >= 0 else None

    def _offsets(self) -> "array[int]":
        return self._columns[1]

    @staticmethod
    def _decode(data: bytes) -> Columns:
        timestamps, offsets = array("q"), array("i")
        for timestamp, offset in _ENTRY.iter_unpack(data):
            timestamps.append(timestamp)
            offsets.append(offset)
        return timestamps, offsets

    def _encode(self, start: int) -> bytes:
        timestamps, offsets = self._columns
        entries = zip(timestamps[start:], offsets[start:], strict=True)
        return b"".join(_ENTRY.pack(timestamp, offset) for timestamp, offset in entries)
