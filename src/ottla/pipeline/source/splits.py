"""Offset ranges packed into Spark's input partitions, each of which one task reads.

A task in Python costs tens of milliseconds, so there are few of them: as many as keep the cores busy, and only one for
a small batch, however many partitions it touches. Every offset is in exactly one split, and inside a split each
partition is in order.

A batch is cut evenly: all ranges are joined, in the order of their partitions, and cut into pieces of equal length, so
that splits differ by one offset at most. A micro-batch keeps the records of a partition together, because what one task
writes into a topic stays in order. They are cut only where the options leave no choice: `minPartitions` is more than
there are partitions to read, or one of them is over `maxRecordsPerPartition`.
"""

import os
from collections.abc import Iterable, Sequence

from pyspark.sql.datasource import InputPartition

from ottla.pipeline.source.ranges import OffsetRange

SPLITS_PER_CORE = 2

# About as many records as are decoded in the time that one more task costs.
SPLIT_OFFSETS_MIN = 10_000


class Split(InputPartition):
    """Ranges for one task, at most one of each partition."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        self.ranges = ranges


def available_core_count() -> int:
    """The cores that this process may use, on the driver: Spark does not tell a source about those of its executors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split_count(
    offset_count: int, core_count: int, min_partitions: int | None = None, max_records_per_partition: int | None = None
) -> int:
    """Choose how many splits to make; the options are those of the same names."""
    count = min(SPLITS_PER_CORE * core_count, -(-offset_count // SPLIT_OFFSETS_MIN))
    if min_partitions is not None:
        count = max(count, min_partitions)
    if max_records_per_partition is not None:
        count = max(count, -(-offset_count // max_records_per_partition))
    return min(count, offset_count)


def pack_stream(
    ranges: Sequence[OffsetRange],
    core_count: int,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> list[Split]:
    """Pack the ranges of a micro-batch into splits; whole ranges, unless the options leave no choice."""
    sizes = [one.offset_count for one in ranges if one.offset_count > 0]
    count = split_count(sum(sizes), core_count, min_partitions, max_records_per_partition)
    is_over = max_records_per_partition is not None and max(sizes, default=0) > max_records_per_partition
    if is_over or (min_partitions or 0) > len(sizes):
        return pack(ranges, count)
    return pack_whole(ranges, count, max_records_per_partition)


def pack_whole(ranges: Iterable[OffsetRange], count: int, offsets_max: int | None = None) -> list[Split]:
    """Pack whole ranges into at most `count` splits: the longest first, each into the split with the fewest offsets.

    With `offsets_max`, which no range may exceed, there are more splits if not all fit into `count`.
    """
    splits: list[list[OffsetRange]] = [[] for _ in range(count)]
    sizes = [0] * count
    for one in sorted(ranges, key=lambda one: one.offset_count, reverse=True):
        if one.offset_count > 0:
            least = sizes.index(min(sizes))
            if offsets_max is not None and sizes[least] + one.offset_count > offsets_max:
                least = len(splits)
                splits.append([])
                sizes.append(0)
            splits[least].append(one)
            sizes[least] += one.offset_count
    return [Split(tuple(taken)) for taken in splits if taken]


def pack(ranges: Iterable[OffsetRange], count: int) -> list[Split]:
    """Cut the ranges into `count` splits, or into one for each offset if there are fewer."""
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
