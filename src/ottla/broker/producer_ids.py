"""Producer ids for this broker, taken from the controller in blocks (KIP-730).

A block is a record in the metadata log, so no id is ever given out twice. The rest of a block is lost when the broker
stops; 63 bits can afford that.
"""

import asyncio
from collections.abc import Awaitable, Callable


class ProducerIds:
    """Hands out ids one by one."""

    def __init__(self, allocate_block: Callable[[], Awaitable[range]]) -> None:
        self._allocate_block = allocate_block
        self._block = iter(range(0))
        self._lock = asyncio.Lock()

    async def next_id(self) -> int:
        """An id that was never given out before."""
        async with self._lock:
            producer_id = next(self._block, None)
            if producer_id is None:
                self._block = iter(await self._allocate_block())
                producer_id = next(self._block)
            return producer_id
