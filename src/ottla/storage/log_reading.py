"""Finding the bytes for a fetch: from which position to which, and reading them once.

A consumer that reads on asks for the offset after the last batch it got; one at the end of the log asks for what was
just appended. `Positions` remembers both, so that such a read needs no index and parses no header. Otherwise the offset
index leads to within a few kilobytes of the batch, and the headers of the rest are walked.

The end of a read is a batch boundary as well. If the limit on bytes falls inside, the offset index gives the last
boundary before it, and the headers after that are walked in the bytes already read.

What this process has written is not checked again, although a disk may still damage it. Only the length of the first
batch is checked, so that a reader at a damaged batch gets an error instead of bytes that hold no whole batch.
"""

from bisect import bisect_right
from typing import NamedTuple

from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, BatchHeader, iterate_headers, parse_header
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedBatch
from ottla.storage.open_segments import OpenSegments
from ottla.storage.segment import Segment
from ottla.storage.segment_scan import LOOKUP_CHUNK_BYTES, ColdPages, read_bytes, scan_headers

# Positions remembered for one log.
_MAX_POSITIONS = 128


class LogRead(NamedTuple):
    """Whole batches, and the offset after the last of them; nothing, if the bytes are cold."""

    records: Buffer
    next_offset: int
    is_cold: bool


class Positions:
    """Where the batches begin that readers are likely to ask for next.

    A log replaces this object when it is truncated or its segments change. A read that began before keeps the old
    object, and nobody sees what it remembers there.
    """

    __slots__ = ("_known", "open_segments")

    def __init__(self, log_end_offset: int, active: Segment, open_segments: OpenSegments) -> None:
        # Threads share it without a lock: each step is one call that the interpreter does not interrupt.
        self._known: dict[int, tuple[Segment, int]] = {log_end_offset: (active, active.size_bytes)}
        self.open_segments = open_segments

    def renewed(self, log_end_offset: int, active: Segment) -> "Positions":
        """A fresh object for the same end of the log."""
        return Positions(log_end_offset, active, self.open_segments)

    def remember(self, offset: int, segment: Segment, position: int) -> None:
        """The batch with this first offset begins, or will begin, at a position."""
        known = self._known
        known[offset] = (segment, position)
        if len(known) > _MAX_POSITIONS:
            # Many at once, so that an append hardly ever pays for it.
            for forgotten in list(known)[: _MAX_POSITIONS // 2]:
                known.pop(forgotten, None)

    def get(self, offset: int) -> tuple[Segment, int] | None:
        return self._known.get(offset)


def read_batches(
    segments: list[Segment],
    positions: Positions,
    start_offset: int,
    end_offset: int,
    max_bytes: int,
    *,
    min_one_batch: bool,
    allow_blocking: bool,
) -> LogRead:
    """Read batches from the one with `start_offset` on, all below `end_offset`, which is a batch boundary in the log.

    DamagedBatch if the first of them is damaged, or one on the way to it.
    """
    try:
        found = positions.get(start_offset)
        if found is None or found[1] >= found[0].size_bytes:
            found = _find(segments, start_offset, allow_blocking)
            if found is None:
                return LogRead(b"", end_offset, is_cold=False)
        segment, start = found
        if not allow_blocking and not segment.has_open_file:
            raise ColdPages
        end, next_offset = _end_in(segment, segments, positions, end_offset, allow_blocking)
        size = end - start
        if size <= 0:
            return LogRead(b"", start_offset, is_cold=False)
        if size <= max_bytes:
            records = read_bytes(segment.file, start, size, allow_blocking=allow_blocking)
        else:
            records, next_offset = _read_limited(segment, start, end, max_bytes, min_one_batch, allow_blocking)
            if not records:
                return LogRead(b"", start_offset, is_cold=False)
        records, next_offset = _sound_part(
            segment, segments, start, records, start_offset, next_offset, end_offset, allow_blocking
        )
    except ColdPages:
        return LogRead(b"", start_offset, is_cold=True)
    except DamagedBatch:
        raise
    except CorruptRecords as error:
        raise DamagedBatch(segment.file.path, start, error.message) from error
    if segment is not segments[-1]:
        positions.open_segments.note(segment)
    if next_offset != end_offset:
        positions.remember(next_offset, segment, start + len(records))
    return LogRead(records, next_offset, is_cold=False)


def _find(segments: list[Segment], offset: int, allow_blocking: bool) -> tuple[Segment, int] | None:
    """Find the batch that holds an offset, or the first after it."""
    first = max(bisect_right(segments, offset, key=_base_offset) - 1, 0)
    for segment in segments[first:]:
        position = find_batch(segment, offset, allow_blocking=allow_blocking)
        if position is not None:
            return segment, position
    return None


def find_batch(segment: Segment, offset: int, *, allow_blocking: bool) -> int | None:
    """Find the first batch of a segment that ends at or after an offset; ColdPages if the disk is needed."""
    if segment.size_bytes == 0:
        return None
    if not segment.is_loaded and not allow_blocking:
        raise ColdPages
    start = segment.position_before(offset, allow_blocking=allow_blocking)
    headers = scan_headers(
        segment.file, start, segment.size_bytes, chunk_bytes=LOOKUP_CHUNK_BYTES, allow_blocking=allow_blocking
    )
    for position, header in headers:
        if header.last_offset >= offset:
            return position
    return None


def _end_in(
    segment: Segment, segments: list[Segment], positions: Positions, end_offset: int, allow_blocking: bool
) -> tuple[int, int]:
    """Up to which position a segment may be read, and the offset that follows there."""
    known = positions.get(end_offset)
    if known is not None and known[0] is segment:
        return known[1], end_offset
    following = bisect_right(segments, segment.base_offset, key=_base_offset)
    if following < len(segments) and segments[following].base_offset <= end_offset:
        return segment.size_bytes, segments[following].base_offset
    size = segment.size_bytes
    position = find_batch(segment, end_offset, allow_blocking=allow_blocking)
    return (size if position is None else position), end_offset


def _read_limited(
    segment: Segment, start: int, end: int, max_bytes: int, min_one_batch: bool, allow_blocking: bool
) -> tuple[Buffer, int]:
    """The whole batches among the next `max_bytes` bytes, or the first one; and the offset after them."""
    # One header more than asked for: the batch after the last whole one shows the next offset.
    limit = start + max_bytes + HEADER_BYTES
    data = memoryview(read_bytes(segment.file, start, min(limit, end) - start, allow_blocking=allow_blocking))
    if segment.is_loaded or allow_blocking:
        known = segment.batch_start_before(start + max_bytes, allow_blocking=allow_blocking)
        position = max(known, start) - start
    else:
        position = 0
    first_position = position
    next_offset = -1
    while position + HEADER_BYTES <= len(data):
        try:
            header: BatchHeader = parse_header(data, position)
        except CorruptRecords:
            if position == 0:
                raise
            # What comes before it can still be read.
            break
        if position + header.size_bytes > max_bytes:
            if position == first_position:
                next_offset = header.base_offset
            break
        position += header.size_bytes
        next_offset = header.next_offset
    if position > 0:
        return (data[:position], next_offset) if next_offset >= 0 else _whole_part(data[:position])
    first = parse_header(data)
    if start + first.size_bytes > end:
        raise _too_long(first, end - start)
    if not min_one_batch:
        return b"", -1
    return read_bytes(segment.file, start, first.size_bytes, allow_blocking=allow_blocking), first.next_offset


def _whole_part(batches: memoryview) -> tuple[memoryview, int]:
    """The batches up to the first that is damaged, and the offset after them; CorruptRecords if that is the first."""
    end, next_offset = 0, -1
    try:
        for position, header in iterate_headers(batches):
            end, next_offset = position + header.size_bytes, header.next_offset
    except CorruptRecords:
        if end == 0:
            raise
    return batches[:end], next_offset


def _too_long(header: BatchHeader, left_bytes: int) -> CorruptRecords:
    return CorruptRecords(
        f"the batch at offset {header.base_offset} takes {header.size_bytes} bytes, {left_bytes} are left"
    )


def _sound_part(
    segment: Segment,
    segments: list[Segment],
    start: int,
    records: Buffer,
    start_offset: int,
    next_offset: int,
    end_offset: int,
    allow_blocking: bool,
) -> tuple[Buffer, int]:
    """What may be served, and the offset that follows; CorruptRecords if not even the first batch may be.

    Its length is always checked, the rest only for what was found on the disk; see UnverifiedBatches.
    """
    size = int.from_bytes(records[8:LOG_OVERHEAD_BYTES], "big", signed=True) + LOG_OVERHEAD_BYTES
    if not HEADER_BYTES <= size <= len(records):
        raise _too_long(parse_header(records), len(records))
    # Read it once: a truncation may replace it at any time.
    unverified = segment.unverified
    if unverified is None or start >= unverified.size_bytes or unverified.is_empty():
        return records, next_offset
    following = bisect_right(segments, segment.base_offset, key=_base_offset)
    segment_end = segments[following].base_offset if following < len(segments) else end_offset
    size = unverified.sound_bytes(records, start, start_offset, segment_end, _Neighbours(segment, allow_blocking))
    if size == len(records) and next_offset == segment_end:
        return records, next_offset
    # The last batch itself shows it: the one after it may be damaged.
    sound = memoryview(records)[:size]
    *_, (_, last) = iterate_headers(sound)
    return sound, last.next_offset


class _Neighbours:
    """The batches around those that were read."""

    def __init__(self, segment: Segment, allow_blocking: bool) -> None:
        self._segment = segment
        self._allow_blocking = allow_blocking

    def end_before(self, position: int) -> int:
        segment = self._segment
        end_offset = segment.base_offset
        start = segment.batch_start_before(max(position - 1, 0), allow_blocking=self._allow_blocking)
        for _, header in scan_headers(segment.file, start, position, allow_blocking=self._allow_blocking):
            end_offset = header.next_offset
        return end_offset

    def start_after(self, position: int) -> int | None:
        if position >= self._segment.size_bytes:
            return None
        found = read_bytes(self._segment.file, position, HEADER_BYTES, allow_blocking=self._allow_blocking)
        return parse_header(found).base_offset


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
