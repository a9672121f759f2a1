"""Splits long work on the event loop into slices of time: a walk over ten thousand rows pauses for other clients."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

# About what five batched produce requests take.
SLICE_SECONDS = 0.005


class TimeSlice:
    """How long a piece of work has kept the loop without a pause."""

    __slots__ = ("_monotonic_s", "_on_pause", "_seconds", "_until")

    def __init__(
        self,
        monotonic_s: Callable[[], float],
        seconds: float = SLICE_SECONDS,
        on_pause: Callable[[], None] | None = None,
    ) -> None:
        """`on_pause` is called when the work needs more than its first slice, and at each later pause."""
        self._monotonic_s = monotonic_s
        self._seconds = seconds
        self._on_pause = on_pause
        self._until = self._monotonic_s() + seconds

    async def pause_if_used(self) -> None:
        """Pauses if this work has used up its slice."""
        if self._monotonic_s() >= self._until:
            if self._on_pause is not None:
                self._on_pause()
            await asyncio.sleep(0)
            self._until = self._monotonic_s() + self._seconds

    async def over(self, items: Iterable[T]) -> AsyncIterator[T]:
        """The items, with pauses between them; the iterable must tolerate changes during a pause."""
        for item in items:
            yield item
            if self._monotonic_s() >= self._until:
                await self.pause_if_used()
