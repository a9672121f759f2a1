"""Long work on the event loop, in slices: whoever walks ten thousand partitions lets clients in between."""

import asyncio
from time import perf_counter
from typing import Final

# About what one batched produce request takes.
SLICE_S: Final = 0.001


class Slices:
    """Gives the event loop back now and then."""

    def __init__(self) -> None:
        self._began = perf_counter()

    async def breathe(self) -> None:
        """Lets others run if this slice has been long enough."""
        if perf_counter() - self._began >= SLICE_S:
            await asyncio.sleep(0)
            self._began = perf_counter()
