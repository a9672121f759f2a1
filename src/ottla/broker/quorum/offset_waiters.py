"""Those who wait until something has reached an offset: a commit, or the image of a reader."""

from __future__ import annotations

import asyncio
from collections import deque


class OffsetWaiters:
    """Whoever comes later waits for the same offset or a later one, so they are done in the order of their coming."""

    __slots__ = ("_reached_offset", "_waiters")

    def __init__(self, reached_offset: int) -> None:
        self._reached_offset = reached_offset
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    def until(self, end_offset: int) -> asyncio.Future[None]:
        """Done when `end_offset` is reached."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if end_offset <= self._reached_offset:
            future.set_result(None)
        else:
            self._waiters.append((end_offset, future))
        return future

    def reached(self, end_offset: int) -> None:
        self._reached_offset = end_offset
        while self._waiters and self._waiters[0][0] <= end_offset:
            _, future = self._waiters.popleft()
            if not future.done():
                future.set_result(None)

    def abandon(self, error: Exception) -> None:
        """What they wait for will not come."""
        for _, future in self._waiters:
            if not future.done():
                future.set_exception(error)
        self._waiters.clear()
