"""Work in the background: nobody awaits it, and nothing ends it that should not."""

import asyncio

import pytest

from ottla.broker.tasks import Tasks
from ottla.protocol.errors import ApiError, ErrorCode


def test_a_round_that_fails_is_logged_and_the_next_one_comes(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        tasks = Tasks()
        rounds = 0
        enough = asyncio.Event()

        async def work() -> None:
            nonlocal rounds
            rounds += 1
            if rounds == 1:
                raise KeyError("a bug")
            if rounds == 2:
                raise ApiError(ErrorCode.NOT_COORDINATOR)
            if rounds == 4:
                enough.set()

        tasks.start_periodic("counting", work, 0.001)
        await enough.wait()
        await tasks.cancel_all()
        ended_at = rounds
        await asyncio.sleep(0)
        assert rounds == ended_at

    asyncio.run(scenario())
    failures = [record for record in caplog.records if "'counting' failed" in record.getMessage()]
    assert [record.exc_info[0] for record in failures if record.exc_info] == [KeyError, ApiError]


def test_the_first_round_comes_when_it_is_told_to() -> None:
    async def scenario() -> None:
        tasks = Tasks()
        began = asyncio.Event()

        async def work() -> None:
            began.set()

        # Longer than any timer reaches.
        tasks.start_periodic("seldom", work, 1e12, first_after_s=0)
        await began.wait()
        await tasks.cancel_all()

    asyncio.run(scenario())


def test_background_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async def work() -> None:
            raise KeyError("a bug")

        await asyncio.wait((Tasks().start_background("once", work()),))

    asyncio.run(scenario())
    assert "'once' failed" in caplog.text
