"""Finding the aborted transactions of a range of offsets, over segments.

A transaction is listed in the segment of its marker, which comes after its records. The search goes from the segment of
the first record until an entry shows, by its last stable offset, that every later transaction begins after the range.
Segments known to have no aborted transactions cost nothing.
"""

from bisect import bisect_right
from collections.abc import Iterator

from ottla.storage.segment import Segment
from ottla.storage.transaction_index import AbortedTransaction


class NotInMemory(Exception):
    """An index must be read from the disk first."""


def aborted_between(
    segments: list[Segment], start_offset: int, end_offset: int, *, allow_blocking: bool = True
) -> list[AbortedTransaction]:
    """Find the aborted transactions with a record in the range, sorted by first offset.

    NotInMemory if that needs the disk and the caller must not wait.
    """
    found: list[AbortedTransaction] = []
    for segment in _from_offset(segments, start_offset):
        if segment.has_no_aborted:
            continue
        if not allow_blocking and not segment.knows_transactions:
            raise NotInMemory
        overlapping, is_complete = segment.transaction_index.overlapping(start_offset, end_offset)
        found += overlapping
        if is_complete:
            break
    return sorted(found, key=lambda entry: entry.first_offset)


def _from_offset(segments: list[Segment], start_offset: int) -> Iterator[Segment]:
    first = max(bisect_right(segments, start_offset, key=lambda segment: segment.base_offset) - 1, 0)
    return (segments[number] for number in range(first, len(segments)))
