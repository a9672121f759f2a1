import struct
from pathlib import Path

from ottla.cli.log.indexes import (
    OffsetEntry,
    TimeEntry,
    offset_entries,
    offset_mismatches,
    sanity_fault,
    time_entries,
    time_index_faults,
)
from ottla.protocol.batch_builder import BatchBuilder

BASE = "00000000000000000100"


def make_log(directory: Path) -> tuple[Path, int]:
    """Two batches, 100-101 and 102, and where the second begins."""
    batches = []
    for base_offset, count in ((100, 2), (102, 1)):
        builder = BatchBuilder(base_offset=base_offset, leader_epoch=0)
        for _ in range(count):
            builder.append(None, b"v", timestamp_ms=base_offset)
        batches.append(bytes(builder.build()))
    log = directory / f"{BASE}.log"
    log.write_bytes(b"".join(batches))
    return log, len(batches[0])


def test_zeros_at_the_end_are_no_entries(tmp_path: Path) -> None:
    log, position = make_log(tmp_path)
    index, time_index = log.with_suffix(".index"), log.with_suffix(".timeindex")
    index.write_bytes(struct.pack(">ii", 2, position) + bytes(80))
    time_index.write_bytes(struct.pack(">qi", 102, 2) + bytes(120))
    assert offset_entries(index) == [OffsetEntry(102, position)]
    assert time_entries(time_index) == [TimeEntry(102, 102)]
    index.write_bytes(bytes(80))
    time_index.write_bytes(bytes(120))
    assert offset_entries(index) == time_entries(time_index) == []


def test_entries_are_compared_with_the_segment(tmp_path: Path) -> None:
    log, position = make_log(tmp_path)
    index = log.with_suffix(".index")
    assert list(offset_mismatches(index, [OffsetEntry(102, position)])) == []
    assert list(offset_mismatches(index, [OffsetEntry(103, position), OffsetEntry(102, 0)])) == [(103, 102), (102, 101)]
    assert list(offset_mismatches(index, [OffsetEntry(105, 10_000)])) == [(105, -1)]


def test_times_are_compared_with_the_segment(tmp_path: Path) -> None:
    log, _ = make_log(tmp_path)
    path = log.with_suffix(".timeindex")
    assert time_index_faults(path, [TimeEntry(100, 101), TimeEntry(102, 102)]).fault_count == 0
    assert time_index_faults(path, [TimeEntry(99, 101)]).wrong_timestamps == [(99, 100)]
    assert time_index_faults(path, [TimeEntry(102, 102), TimeEntry(100, 101)]).out_of_order == [(100, 102)]
    assert time_index_faults(path, [TimeEntry(100, 100)]).offsets_not_found == [(100, 101)]
    assert time_index_faults(path, [TimeEntry(100, 500)]).offsets_not_found == [(500, -1)]


def test_sizes_and_order_are_checked_without_the_segment(tmp_path: Path) -> None:
    index = tmp_path / f"{BASE}.index"
    index.write_bytes(bytes(13))
    assert "not a multiple of 8" in str(sanity_fault(index))
    index.write_bytes(struct.pack(">ii", 2, 70))
    assert sanity_fault(index) is None
    time_index = tmp_path / f"{BASE}.timeindex"
    time_index.write_bytes(struct.pack(">qiqi", 50, 1, 40, 2))
    assert "less than the first timestamp" in str(sanity_fault(time_index))
