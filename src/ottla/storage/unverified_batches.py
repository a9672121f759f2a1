"""Batches that a start found on the disk and did not check: each is checked when it is first read.

A start after a clean shutdown reads almost nothing, and one after a crash only what had not been synced. What rotted on
the disk meanwhile would be served to consumers, many of which do not check checksums. So a batch that this process has
neither written nor scanned is checked before it is served: its checksum, and that its offsets follow those of its
neighbours, which the checksum does not cover. The leader epoch has no such protection; Kafka's format gives it none.

One stretch of bytes is remembered as sound. Consumers read on where they stopped, so it grows until it is everything.
What is appended later comes after these bytes and is not checked. A truncation may remove some of them, and appends
then write others in their place: the segment goes on with what `cut_to` returns, and a read that began before keeps the
old object, which nobody else uses any more.
"""

from typing import Protocol

from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import BatchHeader, crc_is_valid, parse_header
from ottla.protocol.records import CorruptRecords


class Neighbours(Protocol):
    """What the segment holds before and after a batch; CorruptRecords where that cannot be known."""

    def end_before(self, position: int) -> int:
        """The offset at which the batch before a position ends, or the segment begins."""

    def start_after(self, position: int) -> int | None:
        """The first offset of the batch at a position, None at the end of the segment."""


class UnverifiedBatches:
    """The first `size_bytes` bytes of a segment; threads share it."""

    __slots__ = ("_base_offset", "_sound", "size_bytes")

    def __init__(self, size_bytes: int, base_offset: int = 0) -> None:
        self.size_bytes = size_bytes
        self._base_offset = base_offset
        # Where the stretch begins and ends, and the offset that follows it.
        self._sound = (0, 0, base_offset)

    def cut_to(self, size_bytes: int) -> "UnverifiedBatches":
        """Keep what is left in a segment that is cut to a size, which is a batch boundary."""
        if size_bytes >= self.size_bytes:
            return self
        left = UnverifiedBatches(size_bytes, self._base_offset)
        start, end, next_offset = self._sound
        if start < size_bytes:
            # The offset at the new end is that of a removed batch, but nothing is checked after it.
            left._sound = (start, min(end, size_bytes), next_offset)
        return left

    def is_empty(self) -> bool:
        """Whether everything has been checked."""
        return self._sound[:2] == (0, self.size_bytes)

    def sound_bytes(
        self, batches: Buffer, position: int, wanted_offset: int, end_offset: int, neighbours: Neighbours
    ) -> int:
        """Count the bytes of the batches, which begin at a position of the segment, that may be served.

        The first batch holds the wanted offset, or comes after it. The segment ends at `end_offset`. CorruptRecords if
        not even the first batch may be served.
        """
        sound_start, sound_end, sound_offset = self._sound
        is_continued = sound_start <= position <= sound_end
        checked = sound_end if is_continued else position
        # What follows sound batches cannot begin before they end.
        least_offset = sound_offset if is_continued else -1
        unchecked_end = min(position + len(batches), self.size_bytes)
        while checked < unchecked_end:
            begin = checked - position
            try:
                header = parse_header(batches, begin)
                _require_whole(batches, header, begin)
                if header.base_offset < max(least_offset, self._base_offset) or header.next_offset > end_offset:
                    raise _misplaced(header)
                if begin == 0 and header.last_offset < wanted_offset:
                    raise _misplaced(header)
                if header.base_offset != least_offset:
                    _require_fitting(header, checked, neighbours)
            except CorruptRecords:
                if begin == 0:
                    raise
                break
            least_offset = header.next_offset
            checked += header.size_bytes
        if checked > position:
            self._remember(position, min(checked, self.size_bytes), least_offset)
        return len(batches) if checked >= unchecked_end else checked - position

    def _remember(self, start: int, end: int, next_offset: int) -> None:
        sound_start, sound_end, sound_offset = self._sound
        if start > sound_end or end < sound_start:
            self._sound = (start, end, next_offset)
        elif end > sound_end:
            self._sound = (min(start, sound_start), end, next_offset)
        else:
            self._sound = (min(start, sound_start), sound_end, sound_offset)


def _require_whole(batches: Buffer, header: BatchHeader, begin: int) -> None:
    if begin + header.size_bytes > len(batches) or not crc_is_valid(batches, header, begin):
        raise CorruptRecords(f"the checksum of the batch at offset {header.base_offset} does not match")


def _require_fitting(header: BatchHeader, position: int, neighbours: Neighbours) -> None:
    """Accept the first batch of a read, or one after a gap, if the next batch follows it.

    If the next does not follow, one of the two has a wrong offset: not this one, if it follows the one before it.
    """
    try:
        following = neighbours.start_after(position + header.size_bytes)
    except CorruptRecords:
        return
    if following is None or following >= header.next_offset:
        return
    if neighbours.end_before(position) != header.base_offset:
        raise _misplaced(header)


def _misplaced(header: BatchHeader) -> CorruptRecords:
    return CorruptRecords(f"a batch of offsets {header.base_offset} to {header.last_offset} is not where it belongs")
