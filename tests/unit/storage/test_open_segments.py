"""A log keeps few files open, and never lets go of what is only in memory."""

from ottla.storage.open_segments import OpenSegments
from ottla.storage.segment import Segment
from ottla.storage.segment_files import SegmentFiles

NOW_MS = 1_700_000_000_000


def make_segments(disk, count: int) -> list[Segment]:
    return [
        Segment.create(SegmentFiles(disk, disk.root, number), index_interval_bytes=1, created_ms=NOW_MS)
        for number in range(count)
    ]


def test_the_segment_noted_longest_ago_is_unloaded(disk) -> None:
    *sealed, active = make_segments(disk, 8)
    open_segments = OpenSegments(active)
    for segment in (*sealed, sealed[-1], active):
        open_segments.note(segment)
    assert [segment.is_open for segment in sealed] == [False] * 3 + [True] * 4
    assert active.is_open


def test_a_segment_that_a_truncation_made_active_again_stays_in_memory(disk) -> None:
    first, *others, active = make_segments(disk, 8)
    open_segments = OpenSegments(active)
    open_segments.note(first)
    open_segments.activate(first)
    # A reader that began before the truncation.
    open_segments.note(first)
    for segment in others:
        open_segments.note(segment)
    assert first.is_open
