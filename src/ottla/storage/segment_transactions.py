"""The aborted transactions of a range of offsets, over segments."""

from bisect import bisect_right

from ottla.storage.segment import Segment
from ottla.storage.transaction_index import AbortedTransaction


def aborted_between(segments: list[Segment], start_offset: int, end_offset: int) -> list[AbortedTransaction]:
    """The aborted transactions with a record in the range, sorted by first offset.

    A transaction is entered in the segment of its marker, which comes after its records: the search goes on until an
    entry shows, by its last stable offset, that every later transaction begins after the range.
    """
    found: list[AbortedTransaction] = []
    for segment in _from_offset(segments, start_offset):
        index = segment.transaction_index
        found += index.overlapping(start_offset, end_offset)
        if any(entry.last_stable_offset >= end_offset for entry in index.entries):
            break
    return sorted(found, key=lambda entry: entry.first_offset)


def are_in_memory(segments: list[Segment], start_offset: int) -> bool:
    """Whether the aborted transactions from an offset on are known without asking the disk."""
    return all(segment.knows_transactions for segment in _from_offset(segments, start_offset))


def _from_offset(segments: list[Segment], start_offset: int) -> list[Segment]:
    return segments[max(bisect_right(segments, start_offset, key=lambda segment: segment.base_offset) - 1, 0) :]
