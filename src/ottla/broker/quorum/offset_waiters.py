"""Futures that are done when something reaches an offset: a commit, or the image of a reader."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count


class OffsetWaiters:
    """Waiters by offset; those for the same one are done in the order of arrival."""

    __slots__ = ("_numbers", "_reached_offset", "_waiters")

    def __init__(self, reached_offset: int) -> None:
        self._reached_offset = reached_offset
        self._numbers = count()
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []

    def until(self, end_offset: int) -> asyncio.Future[None]:
        """Done when `end_offset` is reached."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if end_offset <= self._reached_offset:
            future.set_result(None)
        else:
            heappush(self._waiters, (end_offset, next(self._numbers), future))
        return future

    def reached(self, end_offset: int) -> None:
        self._reached_offset = end_offset
        while self._waiters and self._waiters[0][0] <= end_offset:
            _, _, future = heappop(self._waiters)
            if not future.done():
                future.set_result(None)

    def abandon(self, error: Exception) -> None:
        """Fails every waiter: the offset will not be reached."""
        for _, _, future in sorted(self._waiters):
            if not future.done():
                future.set_exception(error)
        self._waiters.clear()
