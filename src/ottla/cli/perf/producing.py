"""Load by producing: record by record through the producer, or in batches that were made before.

Record by record, everything counts that an application with this client would pay: a latency runs from the call of
`send` to the acknowledgement of the batch, with the time that the batch lingered. Made before, a batch costs the client
next to nothing, so the cluster is what is measured: a latency is that of a request, and batches are sent without
idempotence, several at a time, all with the timestamps of their making.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.cli.data.pacing import Pace
from ottla.cli.perf.meter import Meter
from ottla.client import Client, ClientError, NewRecord
from ottla.client.records import encode_records

if TYPE_CHECKING:
    from ottla.client import Producer, ProducerSettings
    from ottla.client.delivery import OpenBatch

_FAILURES_KEPT: Final = 3
# What a small record takes in a batch beside its value, about.
_RECORD_OVERHEAD_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class ProduceLoad:
    """What to send: `payload(n)` is the value of record number n, from 0."""

    topic: str
    count: int
    payload: Callable[[int], bytes]
    rate: float | None = None


@dataclass(slots=True)
class _Sent:
    """When the records of one batch were sent, and how large they are together."""

    at_s: list[float] = field(default_factory=list)
    bytes: int = 0


class ProduceRun:
    """One run; failures are counted and the first few kept."""

    def __init__(self, load: ProduceLoad, meter: Meter) -> None:
        self.failed = 0
        self.failures: list[ClientError] = []
        self._load = load
        self._meter = meter
        self._pace = Pace(load.rate)

    async def by_record(self, producer: "Producer", transaction_ms: int | None = None) -> None:
        """Through the producer; with a time, in transactions that last so long."""
        try:
            try:
                await self._send_all(producer, transaction_ms)
            finally:
                await producer.close()
        except ClientError as error:
            if not self.failures:
                self._fail(0, error)

    async def _send_all(self, producer: "Producer", transaction_ms: int | None) -> None:
        load, pace = self._load, self._pace
        commit_s = None
        current: OpenBatch | None = None
        sent = _Sent()
        for number in range(load.count):
            if load.rate is not None:
                await pace.wait(number)
            value = load.payload(number)
            started_s = time.perf_counter()
            if transaction_ms is not None:
                if commit_s is not None and started_s >= commit_s:
                    await producer.commit_transaction()
                    commit_s = None
                if commit_s is None:
                    producer.begin_transaction()
                    commit_s = started_s + transaction_ms / 1000
            try:
                delivery = await producer.send(load.topic, value)
            except ClientError as error:
                self._fail(1, error)
                continue
            if delivery.batch is not current:
                current, sent = delivery.batch, _Sent()
                self._watch(current, sent)
                # The producer's own task sends what is ready.
                await asyncio.sleep(0)
            sent.at_s.append(started_s)
            sent.bytes += len(value)
        if commit_s is not None:
            await producer.commit_transaction()

    def _watch(self, batch: "OpenBatch", sent: "_Sent") -> None:
        def done(_: object) -> None:
            now_s = time.perf_counter()
            error = batch.outcome.result().error
            if error is not None:
                self._fail(len(sent.at_s), error)
            else:
                self._meter.add_all([(now_s - at_s) * 1000 for at_s in sent.at_s], sent.bytes, now_s)

        batch.is_observed = True
        batch.outcome.add_done_callback(done)

    async def by_batch(self, client: Client, settings: "ProducerSettings", in_flight: int) -> None:
        """Batches made before, so many requests at a time."""
        load = self._load
        batch, in_batch, size = self._made_batch(settings)
        partitions = range(await client.partition_count(load.topic, auto_create=settings.auto_create_topics))
        numbers = iter(range(0, load.count, in_batch))

        async def work() -> None:
            for first in numbers:
                await self._pace.wait(first)
                partition = partitions[first // in_batch % len(partitions)]
                started_s = time.perf_counter()
                try:
                    await client.produce_batches(load.topic, partition, batch, acks=settings.acks)
                except ClientError as error:
                    self._fail(in_batch, error)
                    continue
                now_s = time.perf_counter()
                self._meter.add(in_batch, size, now_s, (now_s - started_s) * 1000)

        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(work())

    def _made_batch(self, settings: "ProducerSettings") -> tuple[bytearray, int, int]:
        """A batch of about the wanted size, or of all records if there are fewer; how many, and their values' bytes."""
        now_ms = time.time_ns() // 1_000_000
        values: list[bytes] = []
        size = 0
        while len(values) < self._load.count and (not values or size < settings.batch_bytes):
            values.append(self._load.payload(len(values)))
            size += len(values[-1]) + _RECORD_OVERHEAD_BYTES
        records = [NewRecord(value, timestamp_ms=now_ms) for value in values]
        batch = encode_records(records, codec=settings.codec, compression_level=settings.compression_level)
        return batch, len(values), sum(map(len, values))

    def _fail(self, count: int, error: ClientError) -> None:
        self.failed += count
        if len(self.failures) < _FAILURES_KEPT:
            self.failures.append(error)
