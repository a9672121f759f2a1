"""Where in a segment an offset is: one entry for every `index.interval.bytes` of log.

An entry is 8 bytes, offset minus base offset and file position, ascending in both. It says: the batch at this position
ends with this offset.
"""

import sys
from array import array
from bisect import bisect_right
from typing import NamedTuple

from ottla.storage.index_file import Columns, IndexFile

MAX_RELATIVE_OFFSET = 2**31 - 1


class OffsetPosition(NamedTuple):
    """The batch at a position ends with an offset."""

    offset: int
    position: int


class OffsetIndex(IndexFile):
    """The entries of one segment: a position for an offset."""

    __slots__ = ()

    ENTRY_BYTES = 8

    @property
    def last_position(self) -> int:
        positions = self._columns[1]
        return positions[-1] if positions else 0

    def append(self, offset: int, position: int) -> None:
        """Add an entry; offsets and positions must ascend."""
        if len(self) and offset <= self.last_offset:
            raise ValueError(f"offset {offset} is not above the last indexed one, {self.last_offset}")
        self._add(offset - self.base_offset, position)

    def entry_before(self, offset: int) -> OffsetPosition | None:
        """The last entry not above an offset; the batch that holds the offset is there or after it."""
        offsets, positions = self._columns
        # The entry whose offset equals the one wanted still points at the batch that ends with it.
        entry = bisect_right(offsets, offset - self.base_offset) - 1
        return OffsetPosition(self.base_offset + offsets[entry], positions[entry]) if entry >= 0 else None

    def entry_at_or_before(self, position: int) -> OffsetPosition | None:
        """The entry with the greatest position that is not above the one given: a batch begins there."""
        offsets, positions = self._columns
        # An entry that is being added has a position before it has an offset.
        entry = bisect_right(positions, position, hi=len(offsets)) - 1
        return OffsetPosition(self.base_offset + offsets[entry], positions[entry]) if entry >= 0 else None

    def _offsets(self) -> "array[int]":
        return self._columns[0]

    @staticmethod
    def _decode(data: bytes) -> Columns:
        words = array("I", data)
        if sys.byteorder == "little":
            words.byteswap()
        return words[0::2], words[1::2]

    def _encode(self, start: int) -> bytes:
        offsets, positions = self._columns
        words = array("I", bytes((len(offsets) - start) * self.ENTRY_BYTES))
        words[0::2] = offsets[start:]
        words[1::2] = positions[start:]
        if sys.byteorder == "little":
            words.byteswap()
        return words.tobytes()
