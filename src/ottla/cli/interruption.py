"""Ending an endless command: Ctrl-C and SIGTERM stop the work, and what has to be done at the end is still done."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable
from typing import Any


async def until_interrupted(work: Awaitable[Any]) -> signal.Signals | None:
    """Do work until it ends or a signal comes; which one did. The work sees a cancellation, and may clean up."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    with contextlib.ExitStack() as handlers:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop, number)
            handlers.callback(loop.remove_signal_handler, number)
        try:
            await task
        except asyncio.CancelledError:
            if not received:
                task.cancel()
                raise
    return received[0] if received else None


def exit_code_of_signal(number: signal.Signals | None) -> int:
    """What a shell sees of a process that ended upon a signal; 0 without one."""
    return 0 if number is None else 128 + number
