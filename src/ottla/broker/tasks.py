"""The tasks of a node: each has an owner, and no error is lost.

asyncio keeps only weak references to tasks, and drops the error of a task that nobody awaits. Here a task is held until
it ends, and one that fails in the background is logged. An error does not end periodic work: a round that fails is
logged, and the next one follows after the usual pause.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

logger = logging.getLogger("ottla.broker.tasks")

# Timers reach no further; nobody will notice that a longer pause is cut.
_PAUSE_S_MAX: Final = 30 * 24 * 3600.0


class Tasks:
    """All tasks of a node that are not awaited where they are started."""

    def __init__(self) -> None:
        # In the order of their start, so that they end in a repeatable order.
        self._running: dict[asyncio.Task[Any], None] = {}

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts work whose result or error the caller awaits later."""
        task = asyncio.get_running_loop().create_task(work)
        self._running[task] = None
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        del self._running[task]

    def start_background(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts work in the background; an error in it is logged."""
        task = self.start(work)
        task.add_done_callback(partial(_log_failure, name))
        return task

    def start_periodic(
        self, name: str, work: Callable[[], Awaitable[object]], interval_s: float, *, first_after_s: float | None = None
    ) -> asyncio.Task[None]:
        """Repeats work until cancelled, with a pause before each round."""
        pause_s = min(interval_s, _PAUSE_S_MAX)

        async def rounds() -> None:
            await asyncio.sleep(pause_s if first_after_s is None else min(first_after_s, _PAUSE_S_MAX))
            while True:
                try:
                    await work()
                except Exception:
                    logger.exception("A round of %r failed; the next one starts in %g s", name, pause_s)
                await asyncio.sleep(pause_s)

        return self.start_background(name, rounds())

    async def cancel_all(self) -> None:
        """Cancels every task, and waits until all have ended."""
        running = [task for task in self._running if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _log_failure(name: str, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("Background work %r failed", name, exc_info=error)
