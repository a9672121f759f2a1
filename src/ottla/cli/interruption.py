"""Ending an endless command: Ctrl-C and SIGTERM stop the work, and what has to be done at the end is still done."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable
from typing import Any


async def until_interrupted(work: Awaitable[Any]) -> bool:
    """Do work until it ends or a signal comes; whether one came. The work sees a cancellation, and may clean up."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    with contextlib.ExitStack() as handlers:
        for number in signals:
            loop.add_signal_handler(number, task.cancel)
            handlers.callback(loop.remove_signal_handler, number)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled() or _is_cancelled_itself():
                raise
            return True
    return False


def _is_cancelled_itself() -> bool:
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
