import asyncio
from collections.abc import Awaitable, Callable

import pytest

from harness.watched_tasks import WatchedTasks
from ottla.broker import producer_ids
from ottla.broker.producer_ids import ProducerIds
from ottla.protocol.errors import ApiError, ErrorCode

SIZE = 10


class Blocks:
    """A controller that gives blocks of ten, when it is there."""

    def __init__(self) -> None:
        self.given = 0
        self.asked = 0
        self.under_way = 0
        self.is_there = asyncio.Event()
        self.is_there.set()
        self.errors: list[ErrorCode] = []
        self.tasks = WatchedTasks()
        self.ids = ProducerIds(self.allocate, self.tasks)

    async def allocate(self) -> range:
        self.asked += 1
        self.under_way += 1
        assert self.under_way == 1, "one request at a time"
        try:
            await self.is_there.wait()
            await asyncio.sleep(0)
            if self.errors:
                raise ApiError(self.errors.pop(0))
            self.given += 1
            return range((self.given - 1) * SIZE, self.given * SIZE)
        finally:
            self.under_way -= 1

    async def take(self, count: int) -> list[int]:
        return [await self.ids.next_id() for _ in range(count)]


def run(scenario: Callable[[Blocks], Awaitable[None]]) -> None:
    async def play() -> None:
        blocks = Blocks()
        try:
            await scenario(blocks)
        finally:
            await blocks.tasks.cancel_all()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_ids_come_one_after_the_other_across_blocks() -> None:
    async def scenario(blocks: Blocks) -> None:
        assert await blocks.take(35) == list(range(35))

    run(scenario)


def test_the_next_block_is_asked_for_when_nine_tenths_of_one_are_used() -> None:
    async def scenario(blocks: Blocks) -> None:
        await blocks.take(8)
        await blocks.tasks.all_ended()
        assert blocks.asked == 1
        await blocks.take(1)
        await blocks.tasks.all_ended()
        assert blocks.asked == 2
        # Nobody waits for a controller that has gone meanwhile.
        blocks.is_there.clear()
        assert await blocks.take(10) == list(range(9, 19))

    run(scenario)


def test_many_producers_at_once_get_different_ids() -> None:
    async def scenario(blocks: Blocks) -> None:
        given = await asyncio.gather(*(blocks.ids.next_id() for _ in range(57)))
        assert sorted(given) == list(range(57))

    run(scenario)


def test_a_refused_request_is_repeated(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(blocks: Blocks) -> None:
        blocks.errors = [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER]
        assert await blocks.ids.next_id() == 0
        assert blocks.asked == 4

    monkeypatch.setattr(producer_ids, "_FIRST_PAUSE_S", 0.001)
    run(scenario)
    # However long it takes.
    assert len(caplog.messages) == 1


def test_while_there_is_no_controller_producers_are_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(blocks: Blocks) -> None:
        blocks.is_there.clear()
        refused = await asyncio.gather(*(blocks.ids.next_id() for _ in range(3)), return_exceptions=True)
        assert [error.code for error in refused if isinstance(error, ApiError)] == [
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        ] * 3
        assert blocks.asked == 1
        blocks.is_there.set()
        # Though nobody waits for it any more, the block comes.
        await blocks.tasks.all_ended()
        assert await blocks.take(2) == [0, 1]
        assert blocks.asked == 1

    monkeypatch.setattr(producer_ids, "PATIENCE_S", 0.001)
    run(scenario)


def test_a_producer_that_goes_away_while_it_waits_costs_no_other_one_its_block() -> None:
    async def scenario(blocks: Blocks) -> None:
        blocks.is_there.clear()
        first = asyncio.ensure_future(blocks.ids.next_id())
        second = asyncio.ensure_future(blocks.ids.next_id())
        await asyncio.sleep(0)
        first.cancel()
        blocks.is_there.set()
        assert await second == 0

    run(scenario)
