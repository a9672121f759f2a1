import asyncio
import os
import signal

import pytest

from ottla.cli.interruption import run_interruptibly


def test_work_comes_to_its_end() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert run_interruptibly(work()) == 7


def test_a_second_interrupt_ends_the_cleanup_even_if_it_comes_before_that_begins_to_wait() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("first")
            # In the middle of a step: nothing may be raised here.
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("still here")
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                seen.append("second")
                raise

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(work())
    assert seen == ["first", "still here", "second"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
