"""Offset ranges packed into Spark's input partitions, each of which one task reads: pure.

A task in Python costs tens of milliseconds, so there are few of them: as many as keep the cores busy, and only one for
a small batch, however many partitions it touches. All ranges are laid end to end, in the order of their partitions, and
cut into pieces of the same length: every offset is in exactly one split, splits differ by one offset at most, and
inside a split each partition is in order.
"""

from collections.abc import Iterable

from pyspark.sql.datasource import InputPartition

from ottla.pipeline.source.ranges import OffsetRange

SPLITS_PER_CORE = 2

# About as many records as are opened in the time that one more task costs.
SPLIT_OFFSETS_MIN = 10_000


class Split(InputPartition):
    """Ranges for one task, at most one of each partition."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        self.ranges = ranges


def split_count(
    offset_count: int, core_count: int, min_partitions: int | None = None, max_records_per_partition: int | None = None
) -> int:
    """How many splits so many offsets make; the options are those of the same names."""
    count = min(SPLITS_PER_CORE * core_count, -(-offset_count // SPLIT_OFFSETS_MIN))
    if min_partitions is not None:
        count = max(count, min_partitions)
    if max_records_per_partition is not None:
        count = max(count, -(-offset_count // max_records_per_partition))
    return min(count, offset_count)


def pack(ranges: Iterable[OffsetRange], count: int) -> list[Split]:
    """The ranges in so many splits, or in one for each offset if there are fewer."""
    waiting = [one for one in ranges if one.offset_count > 0]
    total = sum(one.offset_count for one in waiting)
    count = min(count, total)
    waiting.reverse()
    splits = []
    for number in range(count):
        room = total * (number + 1) // count - total * number // count
        taken = []
        while room:
            one = waiting.pop()
            size = min(room, one.offset_count)
            taken.append(one._replace(until=one.start + size))
            if size < one.offset_count:
                waiting.append(one._replace(start=one.start + size))
            room -= size
        splits.append(Split(tuple(taken)))
    return splits
