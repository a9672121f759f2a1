"""Indexes beside a segment: their entries, and whether these agree with the segment."""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ottla.cli.log.segments import StoredBatch, UnreadableLog, base_offset, read_batches

_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")


class OffsetEntry(NamedTuple):
    """The batch at a position ends with an offset."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """Up to an offset no record is younger than this."""

    timestamp_ms: int
    offset: int


def offset_entries(path: Path) -> list[OffsetEntry]:
    """The entries of an `.index`; a file that was not closed ends in zeros, which are not entries."""
    base = base_offset(path)
    entries = []
    for number, (relative, position) in enumerate(_rows(path, _OFFSET_ENTRY)):
        if relative == 0 and number > 0:
            break
        entries.append(OffsetEntry(base + relative, position))
    return [] if entries == [OffsetEntry(base, 0)] else entries


def time_entries(path: Path) -> list[TimeEntry]:
    """The entries of a `.timeindex`."""
    base = base_offset(path)
    entries = []
    for number, (timestamp_ms, relative) in enumerate(_rows(path, _TIME_ENTRY)):
        if relative == 0 and (number > 0 or timestamp_ms == 0):
            break
        entries.append(TimeEntry(timestamp_ms, base + relative))
    return entries


def _rows(path: Path, entry: struct.Struct) -> Iterator[tuple[int, ...]]:
    data = _read(path)
    return entry.iter_unpack(data[: len(data) - len(data) % entry.size])


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableLog(f"{path} cannot be read: {error.strerror}") from error


def offset_mismatches(path: Path, entries: list[OffsetEntry]) -> Iterator[tuple[int, int]]:
    """Each indexed offset with that of the batch at its position, where they differ; -1 if no batch is there."""
    log = path.with_suffix(".log")
    for entry in entries:
        found = _batch_at(log, entry.position)
        last = -1 if found is None else found.header.last_offset
        if last != entry.offset:
            yield entry.offset, last


def _batch_at(log: Path, position: int) -> StoredBatch | None:
    try:
        return next(read_batches(log, start=position), None)
    except UnreadableLog:
        if not log.exists():
            raise
        return None


class TimeIndexFaults(NamedTuple):
    """What is wrong with a time index: pairs of what the index says and what was found."""

    wrong_timestamps: list[tuple[int, int]]
    out_of_order: list[tuple[int, int]]
    offsets_not_found: list[tuple[int, int]]

    @property
    def fault_count(self) -> int:
        return len(self.wrong_timestamps) + len(self.out_of_order) + len(self.offsets_not_found)


def time_index_faults(path: Path, entries: list[TimeEntry]) -> TimeIndexFaults:
    """Compare each entry with the batch that it points into, found by the offset index where there is one."""
    faults = TimeIndexFaults([], [], [])
    log = path.with_suffix(".log")
    index = path.with_suffix(".index")
    places = offset_entries(index) if index.exists() else []
    previous_ms = -1
    for entry in entries:
        before = bisect_right(places, entry.offset, key=lambda place: place.offset) - 1
        start = places[before].position if before >= 0 else 0
        found = next((one for one in read_batches(log, start=start) if one.header.last_offset >= entry.offset), None)
        if found is None or found.header.last_offset != entry.offset:
            faults.offsets_not_found.append((entry.offset, -1 if found is None else found.header.last_offset))
        elif found.header.max_timestamp != entry.timestamp_ms:
            faults.wrong_timestamps.append((entry.timestamp_ms, found.header.max_timestamp))
        if entry.timestamp_ms < previous_ms:
            faults.out_of_order.append((entry.timestamp_ms, previous_ms))
        previous_ms = entry.timestamp_ms
    return faults


def sanity_fault(path: Path) -> str | None:
    """What would make a broker rebuild the index on its start, without a look at the segment."""
    size = len(_read(path))
    is_time_index = path.suffix == ".timeindex"
    entry_bytes = (_TIME_ENTRY if is_time_index else _OFFSET_ENTRY).size
    if size % entry_bytes:
        return f"Index file {path} is corrupt, found {size} bytes, which is not a multiple of {entry_bytes}"
    if not is_time_index:
        rows = list(_rows(path, _OFFSET_ENTRY))
        if rows and rows[-1][0] < 0:
            return f"Corrupt index found, index file ({path}) has a last offset below its base offset"
        return None
    rows = list(_rows(path, _TIME_ENTRY))
    if rows and rows[-1][0] < rows[0][0]:
        return (
            f"Corrupt time index found, time index file ({path}) has non-zero size but the last timestamp is "
            f"{rows[-1][0]} which is less than the first timestamp {rows[0][0]}"
        )
    return None
