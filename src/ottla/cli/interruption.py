"""Ending a command: Ctrl-C and SIGTERM stop the work, and what has to be done at the end is still done.

Signals take effect between two steps of the work, never inside one. Python's own KeyboardInterrupt may be raised inside
a cleanup, which would then wait as if nothing had happened.
"""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_interruptibly(work: Coroutine[Any, Any, T]) -> T:
    """Do work to its end. Each Ctrl-C cancels what it waits for; KeyboardInterrupt follows the end of the work."""

    async def run() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    return asyncio.run(run())


async def until_interrupted(work: Awaitable[Any]) -> signal.Signals | None:
    """Do work until it ends or a signal comes; returns the signal. The work is cancelled, and may clean up."""
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
    """The exit code of a process that a signal ended; 0 without a signal."""
    return 0 if number is None else 128 + number
