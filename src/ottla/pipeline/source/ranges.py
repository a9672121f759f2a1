"""Which offsets of which partition a batch covers, and what is missing of them: pure decisions.

A partition that appears between two batches is read from its beginning, which is 0 unless records are gone already. A
partition that was read before and is gone, or whose end has gone back, has lost data: `failOnDataLoss` decides whether
that ends the query, before the batch exists: Spark would retry a recorded plan for ever. If it does not, a partition
that is gone keeps its offset, in case it comes back, and one whose end went back is read from its beginning, because
its topic was most likely deleted and created again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ottla.protocol.topic_partition import TopicPartition

REMEDY = (
    "If that is expected, set the option failOnDataLoss to false (--allow-data-loss of a copy): the query then "
    "continues with what is there. "
    "To start over, use a new checkpoint location."
)


class OffsetRange(NamedTuple):
    """Offsets of one partition, from `start` up to and without `until`."""

    topic: str
    partition: int
    start: int
    until: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def offset_count(self) -> int:
        return self.until - self.start

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} [{self.start}, {self.until})"


@dataclass(frozen=True, slots=True)
class PlannedRanges:
    """What to read, in the order of topics and partitions, and sentences about what is lost."""

    ranges: tuple[OffsetRange, ...]
    losses: tuple[str, ...]


def unknown_beginnings(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> set[TopicPartition]:
    """The partitions whose beginning decides: new ones, and those whose end has gone back."""
    return {partition for partition, until in end.items() if partition not in start or start[partition] > until}


def plan_ranges(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    beginnings: Mapping[TopicPartition, int],
) -> PlannedRanges:
    """`beginnings` holds the first offsets of `unknown_beginnings`, of those that are still there."""
    losses = []
    if gone := sorted(set(start) - set(end)):
        names = ", ".join(f"{partition} (read up to offset {start[partition]})" for partition in gone)
        losses.append(f"partitions are gone, with whatever was not read of them: {names}")
    ranges = []
    for partition in sorted(end):
        until = end[partition]
        begin = beginnings.get(partition) if partition not in start or start[partition] > until else start[partition]
        if begin is None:
            losses.append(f"partition {partition} is gone, with what was to be read of it up to offset {until}")
            continue
        if partition not in start and begin > 0:
            losses.append(f"the new partition {partition} begins at offset {begin}: offsets 0 to {begin - 1} are gone")
        elif partition in start and start[partition] > until:
            losses.append(
                f"{partition} was read up to offset {start[partition]} and ends at {until} now: "
                "its topic was deleted and created again, or its log was truncated"
            )
        if begin < until:
            ranges.append(OffsetRange(*partition, begin, until))
    return PlannedRanges(tuple(ranges), tuple(losses))
