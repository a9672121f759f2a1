"""Finding records by time, exact to the record. This opens batches and may wait for the disk: run it in a thread."""

from collections.abc import Iterator
from typing import NamedTuple

from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import BatchHeader, TimestampType, batch_records
from ottla.storage.log_reading import find_batch
from ottla.storage.segment import Segment
from ottla.storage.segment_scan import scan_batches


class TimestampOffset(NamedTuple):
    """A record: its timestamp, its offset, and the leader epoch of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int


def first_at_or_after(
    segments: list[Segment], timestamp: int, start_offset: int, end_offset: int
) -> TimestampOffset | None:
    """Find the first record between two offsets that is not earlier than a timestamp."""
    for segment in segments:
        if segment.base_offset >= end_offset:
            break
        if segment.size_bytes == 0 or segment.max_timestamp < timestamp:
            continue
        first_offset = max(segment.offset_before_time(timestamp), start_offset)
        position = segment.position_before(first_offset)
        for _, header, batch in scan_batches(segment.file, position, segment.size_bytes):
            if header.base_offset >= end_offset:
                return None
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            found = _first_in_batch(batch, header, timestamp, start_offset)
            if found is not None:
                return found if found.offset < end_offset else None
    return None


def latest(segments: list[Segment], start_offset: int, end_offset: int) -> TimestampOffset | None:
    """Find the first of the records with the largest timestamp between two offsets."""
    best = -1
    best_segment: Segment | None = None
    for segment in segments:
        if segment.size_bytes == 0 or segment.base_offset >= end_offset:
            continue
        candidate = _max_timestamp_between(segment, start_offset, end_offset)
        if candidate > best:
            best, best_segment = candidate, segment
    if best_segment is None:
        return None
    return first_at_or_after([best_segment], best, start_offset, end_offset)


def _max_timestamp_between(segment: Segment, start_offset: int, end_offset: int) -> int:
    if segment.base_offset >= start_offset and segment.max_timestamp_offset < end_offset:
        return segment.max_timestamp
    # Part of the segment lies outside the range.
    position = find_batch(segment, start_offset, allow_blocking=True)
    if position is None:
        return -1
    best = -1
    for _, header, batch in scan_batches(segment.file, position, segment.size_bytes):
        if header.base_offset >= end_offset:
            break
        if header.base_offset >= start_offset:
            best = max(best, header.max_timestamp)
        else:
            best = max([best, *(time for offset, time in _times(batch, header) if offset >= start_offset)])
    return best


def _first_in_batch(batch: Buffer, header: BatchHeader, timestamp: int, start_offset: int) -> TimestampOffset | None:
    for offset, time in _times(batch, header):
        if offset >= start_offset and time >= timestamp:
            return TimestampOffset(time, offset, header.leader_epoch)
    return None


def _times(batch: Buffer, header: BatchHeader) -> Iterator[tuple[int, int]]:
    """Offset and timestamp of each record."""
    stamped_by_broker = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    for record in batch_records(batch, header):
        time = header.max_timestamp if stamped_by_broker else header.base_timestamp + record.timestamp_delta
        yield header.base_offset + record.offset_delta, time
