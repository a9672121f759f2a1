import asyncio

import pytest

from ottla.cli.data.deliveries import Deliveries, Outcome
from ottla.client import ClientError, TopicPartition
from ottla.client.delivery import Delivery, OpenBatch
from ottla.client.producer_queue import Outcome as BatchOutcome
from ottla.protocol.batch_builder import BatchBuilder

TOPIC = TopicPartition("orders", 0)


def open_batch() -> OpenBatch:
    return OpenBatch(TOPIC, BatchBuilder(), 0.0)


async def sent(batch: OpenBatch, number: int) -> Delivery:
    return Delivery(batch, number, 5)


async def refused() -> Delivery:
    raise ClientError("no room")


def test_outcomes_are_told_in_the_order_of_sending() -> None:
    told: list[tuple[str, int]] = []

    async def work() -> None:
        deliveries = Deliveries[str](lambda name, outcome: told.append((name, getattr(outcome, "offset", -9))))
        first, second = open_batch(), open_batch()
        second.outcome.set_result(BatchOutcome(20))
        await deliveries.add("a", sent(first, 0))
        await deliveries.add("b", sent(second, 1))
        assert told == []
        first.outcome.set_result(BatchOutcome(10))
        await deliveries.add("c", sent(open_batch(), 0))
        assert told == [("a", 10), ("b", 21)]

    asyncio.run(work())


def test_a_record_that_is_not_taken_is_told_at_once_and_others_go_on() -> None:
    told: list[tuple[str, Outcome]] = []

    async def work() -> None:
        deliveries = Deliveries[str](lambda name, outcome: told.append((name, outcome)))
        batch = open_batch()
        await deliveries.add("a", sent(batch, 0))
        await deliveries.add("b", refused())
        assert [(name, str(outcome)) for name, outcome in told] == [("b", "no room")]
        batch.outcome.set_result(BatchOutcome(-1, error=ClientError("lost")))
        await deliveries.finish()
        assert [(name, str(outcome)) for name, outcome in told[1:]] == [("a", "lost")]

    asyncio.run(work())


def test_telling_may_end_it() -> None:
    def end(name: str, _: Outcome) -> None:
        raise RuntimeError(name)

    async def work() -> None:
        with pytest.raises(RuntimeError, match="b"):
            await Deliveries[str](end).add("b", refused())

    asyncio.run(work())
