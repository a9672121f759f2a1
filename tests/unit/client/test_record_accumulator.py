"""What waits to be sent, and what happens when it is too much."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from harness.ports import free_port
from ottla.client.addresses import Address
from ottla.client.cluster import Cluster
from ottla.client.delivery import Delivery, OpenBatch
from ottla.client.errors import ClientError, RequestTimedOut
from ottla.client.producer_queue import Outcome
from ottla.client.producer_settings import ProducerSettings
from ottla.client.record_accumulator import RecordAccumulator
from ottla.protocol.records import record_size_bound
from ottla.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)
VALUE = bytes(100)
SIZE = record_size_bound(None, VALUE)
Failures = list[tuple[OpenBatch, ClientError]]


def run(settings: ProducerSettings, test: Callable[[RecordAccumulator, Failures], Awaitable[None]]) -> None:
    async def main() -> None:
        failures: Failures = []
        cluster = Cluster([Address("127.0.0.1", free_port())])
        await test(RecordAccumulator(cluster, settings, lambda *failure: failures.append(failure)), failures)

    asyncio.run(main())


def add(accumulator: RecordAccumulator, partition: TopicPartition = PARTITION) -> Delivery:
    return accumulator.append(partition, 1_000, None, VALUE, (), size_bound=SIZE, transaction=0)


def settle(accumulator: RecordAccumulator, outcome: Outcome, partition: TopicPartition = PARTITION) -> None:
    queue = accumulator.queues[partition]
    batch = queue.take(1e12)
    assert batch is not None
    queue.acknowledged(batch, outcome)


def test_a_record_that_might_not_fit_opens_another_batch() -> None:
    async def test(accumulator: RecordAccumulator, _: Failures) -> None:
        first, second, third = (add(accumulator) for _ in range(3))
        assert (first.number, second.number, third.number) == (0, 1, 0)
        assert first.batch is second.batch is not third.batch
        assert (first.batch.is_sealed, third.batch.is_sealed) == (True, False)

    run(ProducerSettings(batch_bytes=350), test)


def test_partitions_have_batches_of_their_own() -> None:
    async def test(accumulator: RecordAccumulator, _: Failures) -> None:
        first, second = add(accumulator), add(accumulator, TopicPartition("t", 1))
        assert first.batch is not second.batch

    run(ProducerSettings(), test)


def test_who_finds_the_buffer_full_waits_until_a_batch_is_settled() -> None:
    async def test(accumulator: RecordAccumulator, _: Failures) -> None:
        add(accumulator)
        waiting = asyncio.create_task(accumulator.await_space(SIZE))
        await asyncio.sleep(0)
        assert not waiting.done()
        settle(accumulator, Outcome(0))
        await waiting
        assert accumulator.buffered_bytes == 0

    run(ProducerSettings(buffer_bytes=SIZE), test)


def test_a_buffer_that_stays_full_is_told_with_its_size() -> None:
    async def test(accumulator: RecordAccumulator, _: Failures) -> None:
        add(accumulator)
        with pytest.raises(RequestTimedOut, match=rf"the buffer of {SIZE} bytes stayed full for 10 ms"):
            await accumulator.await_space(SIZE)

    run(ProducerSettings(buffer_bytes=SIZE, max_block_ms=10), test)


def test_a_drain_lets_everything_go_and_waits_for_all_of_it() -> None:
    other = TopicPartition("t", 1)

    async def test(accumulator: RecordAccumulator, _: Failures) -> None:
        deliveries = [add(accumulator), add(accumulator, other)]
        draining = asyncio.create_task(accumulator.drain())
        await asyncio.sleep(0)
        assert all(delivery.batch.is_sealed for delivery in deliveries)
        settle(accumulator, Outcome(5))
        await asyncio.sleep(0)
        assert not draining.done()
        settle(accumulator, Outcome(6), other)
        await draining
        assert [(await delivery).offset for delivery in deliveries] == [5, 6]

    run(ProducerSettings(linger_ms=60_000), test)


def test_of_what_is_given_up_each_batch_is_told_with_its_error() -> None:
    error = ClientError("the end")

    async def test(accumulator: RecordAccumulator, failures: Failures) -> None:
        delivery = add(accumulator)
        accumulator.fail_all(error)
        with pytest.raises(ClientError, match="the end"):
            await delivery
        await asyncio.sleep(0)
        assert failures == [(delivery.batch, error)]
        assert accumulator.buffered_bytes == 0

    run(ProducerSettings(), test)
