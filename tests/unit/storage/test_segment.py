"""What a segment does with its file; the batches in it are the matter of the log's tests."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

NOW_MS = 1_700_000_000_000
SEGMENT_BYTES = 1 << 20


def allocated_bytes(directory: Path) -> list[int]:
    """What the files of the segments take on the disk, oldest first."""
    return [path.stat().st_blocks * 512 for path in sorted(directory.glob("*.log"))]


@pytest.mark.skipif(sys.platform != "linux", reason="space can be set aside on Linux only")
def test_space_is_set_aside_for_the_active_segment_and_given_back_when_it_is_closed(open_log, make_batch) -> None:
    log = open_log(preallocate=True, segment_bytes=SEGMENT_BYTES)
    for _ in range(2):
        log.append_as_leader(make_batch(1), leader_epoch=0, now_ms=NOW_MS)
        log.roll(NOW_MS)
    first, second, active = allocated_bytes(log.directory)
    assert max(first, second) < SEGMENT_BYTES <= active
    log.append_as_leader(make_batch(1), leader_epoch=0, now_ms=NOW_MS)
    log.close(NOW_MS)
    assert max(allocated_bytes(log.directory)) < SEGMENT_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="space can be set aside on Linux only")
def test_a_log_with_space_set_aside_is_whole_after_a_kill(open_log, make_batch) -> None:
    log = open_log(preallocate=True, segment_bytes=SEGMENT_BYTES)
    log.append_as_leader(make_batch(3), leader_epoch=0, now_ms=NOW_MS)
    size_bytes = log.size_bytes
    log.abandon()
    log = open_log(preallocate=True, segment_bytes=SEGMENT_BYTES)
    assert (log.log_end_offset, log.size_bytes) == (3, size_bytes)
    assert allocated_bytes(log.directory)[0] >= SEGMENT_BYTES
    log.roll(NOW_MS)
    assert allocated_bytes(log.directory)[0] < SEGMENT_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="space can be set aside on Linux only")
def test_whether_space_is_set_aside_can_change_with_the_next_segment(open_log, make_batch) -> None:
    log = open_log(segment_bytes=SEGMENT_BYTES)
    log.append_as_leader(make_batch(1), leader_epoch=0, now_ms=NOW_MS)
    log.update_config(replace(log.config, preallocate=True))
    assert allocated_bytes(log.directory)[0] < SEGMENT_BYTES
    log.roll(NOW_MS)
    assert allocated_bytes(log.directory)[1] >= SEGMENT_BYTES
