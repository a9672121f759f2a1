"""Load by consuming: records, or whole batches that are counted and never opened."""

import time
from typing import TYPE_CHECKING

from ottla.cli.perf.meter import Meter
from ottla.client import Client, ClientError, FetchLimits, RebalanceListener, TopicPartition
from ottla.protocol.record_batch import iterate_headers

if TYPE_CHECKING:
    from ottla.client import Consumer

POLL_MS = 100.0


class RebalanceClock(RebalanceListener):
    """How long the reader had no partitions because its group was busy with itself."""

    def __init__(self, now_s: float) -> None:
        self.waited_s = 0.0
        self._since_s: float | None = now_s

    async def on_partitions_assigned(self, _partitions: frozenset[TopicPartition]) -> None:
        if self._since_s is not None:
            self.waited_s += time.perf_counter() - self._since_s
            self._since_s = None

    async def on_partitions_revoked(self, _partitions: frozenset[TopicPartition]) -> None:
        self._since_s = time.perf_counter()


async def consume_records(consumer: "Consumer", count: int, timeout_ms: float, meter: Meter) -> bool:
    """Read `count` records; False if none came for too long."""
    deadline_s = time.perf_counter() + timeout_ms / 1000
    while meter.records < count:
        records = await consumer.poll(POLL_MS, max_records=min(count - meter.records, 5_000))
        now_s = time.perf_counter()
        if records:
            size = sum([len(record.key or b"") + len(record.value or b"") for record in records])
            meter.add(len(records), size, now_s)
            deadline_s = now_s + timeout_ms / 1000
        elif now_s >= deadline_s:
            return False
    return True


async def consume_batches(
    client: Client,
    offsets: dict[TopicPartition, int],
    limits: FetchLimits,
    count: int,
    timeout_ms: float,
    meter: Meter,
) -> bool:
    """Fetch batches until they hold `count` records; False if none came for too long."""
    deadline_s = time.perf_counter() + timeout_ms / 1000
    while meter.records < count:
        answers = await client.fetch_partitions(offsets, limits=limits)
        now_s = time.perf_counter()
        records = size = 0
        for partition, answer in answers.items():
            if answer.error is not None:
                raise _named(partition, answer.error)
            for _, header in iterate_headers(answer.batches):
                records += header.record_count
                size += header.size_bytes
                offsets[partition] = header.next_offset
        if records:
            meter.add(records, size, now_s)
            deadline_s = now_s + timeout_ms / 1000
        elif now_s >= deadline_s:
            return False
    return True


def _named(partition: TopicPartition, error: ClientError) -> ClientError:
    error.add_note(f"partition {partition}")
    return error
