"""When a shard is asked about its deadlines."""

import asyncio

import pytest

from ottla.broker.coordinators import deadlines
from ottla.broker.coordinators.deadlines import Deadlines


def test_a_deadline_is_kept_once_an_earlier_one_takes_its_place_and_none_after_the_end() -> None:
    async def scenario() -> None:
        wanted: list[int | None] = [10_000]
        ticked: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def tick(now_ms: int) -> None:
            wanted[0] = None
            ticked.set_result(now_ms)

        timer = Deadlines("t-0", lambda: 50, lambda: wanted[0], tick)
        timer.schedule()
        wanted[0] = 50
        timer.schedule()
        assert await ticked == 50
        wanted[0] = 50
        timer.close()
        timer.schedule()
        await asyncio.sleep(0)

    asyncio.run(scenario())


def test_a_deadline_that_fails_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deadlines, "_RETRY_PAUSE_S", 0.0)

    async def scenario() -> None:
        ticks = 0
        ticked = asyncio.Event()

        def tick(_now_ms: int) -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 1:
                raise KeyError("a bug")
            timer.close()
            ticked.set()

        timer = Deadlines("t-0", lambda: 0, lambda: 0, tick)
        timer.schedule()
        await ticked.wait()

    asyncio.run(scenario())
    assert "deadlines of t-0 could not be checked" in caplog.text
