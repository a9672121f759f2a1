"""Tasks of a node that a test can wait for."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ottla.broker.tasks import Tasks

T = TypeVar("T")


class WatchedTasks(Tasks):
    def __init__(self) -> None:
        super().__init__()
        self._watched: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = super().start(work)
        self._watched.add(task)
        return task

    @property
    def running_count(self) -> int:
        return sum(not task.done() for task in self._watched)

    async def all_ended(self) -> None:
        """Everything that was started has ended, and what was started meanwhile."""
        while self._watched:
            await asyncio.wait(self._watched)
            self._watched = {task for task in self._watched if not task.done()}
