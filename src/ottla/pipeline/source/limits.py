"""How far a micro-batch of a stream may go: pure decisions about offsets.

A limit is shared among the partitions that have something to read, in proportion to how much each has, and none gets
nothing: a small partition beside a huge one advances by at least one offset. So a batch may exceed its limit by one
offset per partition, as with Spark's Kafka connector.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.pipeline.source.offsets import Offsets
from ottla.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class TriggerLimits:
    """The options of a stream that bound a micro-batch; None is without that bound."""

    max_offsets: int | None = None
    max_bytes: int | None = None
    min_offsets: int | None = None
    max_delay_ms: int = 0

    @property
    def has_any(self) -> bool:
        return not self.max_offsets == self.max_bytes == self.min_offsets is None


def lag_of(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """How many offsets each partition has to read, of those that have any."""
    return {
        partition: end[partition] - begin
        for partition, begin in start.items()
        if partition in end and end[partition] > begin
    }


def share_offsets(lag: Mapping[TopicPartition, int], limit: int) -> dict[TopicPartition, int]:
    """Divide a limit of offsets among the partitions by their lag; the sum is about `limit`."""
    total = sum(lag.values())
    if total <= limit:
        return dict(lag)
    return {partition: min(size, max(1, limit * size // total)) for partition, size in lag.items()}


def share_bytes(
    lag: Mapping[TopicPartition, int], limit_bytes: int, offset_bytes: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """Divide a limit in bytes, by what an offset of each partition takes on average."""
    sizes = {partition: max(1, round(size * offset_bytes[partition])) for partition, size in lag.items()}
    allowed = share_offsets(sizes, limit_bytes)
    return {
        partition: size
        if allowed[partition] == sizes[partition]
        else min(size, max(1, int(allowed[partition] / offset_bytes[partition])))
        for partition, size in lag.items()
    }


def limit_end(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    limits: TriggerLimits,
    offset_bytes: Mapping[TopicPartition, float],
) -> Offsets:
    """Limit the end of the next batch: never after `end`, and with the same partitions."""
    lag = lag_of(start, end)
    allowed = dict(lag)
    if limits.max_offsets is not None:
        allowed = share_offsets(lag, limits.max_offsets)
    if limits.max_bytes is not None:
        by_bytes = share_bytes(lag, limits.max_bytes, offset_bytes)
        allowed = {partition: min(count, by_bytes[partition]) for partition, count in allowed.items()}
    return {
        partition: start[partition] + allowed[partition] if partition in allowed else offset
        for partition, offset in end.items()
    }


def should_wait(lag: Mapping[TopicPartition, int], limits: TriggerLimits, waited_ms: float) -> bool:
    """Whether there is too little for a batch, and it has not been delayed for too long."""
    return limits.min_offsets is not None and sum(lag.values()) < limits.min_offsets and waited_ms < limits.max_delay_ms
