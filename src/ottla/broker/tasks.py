"""The tasks of a node: each has an owner, none is forgotten.

asyncio keeps only weak references to tasks, and drops the error of one that nobody awaits. Here both have a place: a
task lives until it ends, and one that fails in the background is logged.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger("ottla.broker.tasks")


class Tasks:
    """All tasks of a node that are not awaited where they are started."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts work whose result or error somebody else takes."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def start_background(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts work that runs beside everything else; an error in it is ours and is logged."""

        async def guarded() -> None:
            try:
                await work
            except Exception:
                logger.exception("Background work %r failed", name)

        task = self.start(guarded())
        # A task that is cancelled before its first step never gets to its work.
        task.add_done_callback(lambda _: work.close())
        return task

    async def cancel_all(self) -> None:
        """Ends every task and waits until it has ended."""
        running = [task for task in self._running if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
