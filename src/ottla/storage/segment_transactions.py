"""The aborted transactions of a range of offsets, over segments.

A transaction is entered in the segment of its marker, which comes after its records. The search goes on from the
segment of the first record until an entry shows, by its last stable offset, that every later transaction begins after
the range. Segments without aborted transactions are known as such and cost nothing.
"""

from bisect import bisect_right
from collections.abc import Iterator

from ottla.storage.segment import Segment
from ottla.storage.transaction_index import AbortedTransaction


class NotInMemory(Exception):
    """An index has to be read from the disk first."""


def aborted_between(
    segments: list[Segment], start_offset: int, end_offset: int, *, allow_blocking: bool = True
) -> list[AbortedTransaction]:
    """The aborted transactions with a record in the range, sorted by first offset.

    NotInMemory if the disk would have to be asked, and must not be.
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
