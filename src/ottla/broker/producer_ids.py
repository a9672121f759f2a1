"""Producer ids for this broker, taken from the controller in blocks (KIP-730).

Guarantees
- No id is ever given out twice, by any broker. A block is a record in the metadata log, under the broker epoch that
  asked for it; the controller refuses an earlier life of this broker. What is left of a block is lost when the broker
  stops, or when the answer with a block is lost on its way; 63 bits can afford that.
- At most one request for a block is under way. The next block is asked for when 90 % of the current one is used, so
  that producers wait for the controller only after a start, or while there is none.
- A request that fails is repeated, with a growing pause, for as long as the broker runs: nobody has to come for an id
  to make it happen. Whoever does come hears COORDINATOR_LOAD_IN_PROGRESS after PATIENCE_S, and asks again.

Nothing here survives a crash.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from ottla.broker.tasks import Tasks
from ottla.protocol.errors import ApiError, ErrorCode

logger = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
_PREFETCH_AT_PERCENT: Final = 90
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0


class ProducerIds:
    """Hands out ids one by one."""

    def __init__(self, allocate_block: Callable[[], Awaitable[range]], tasks: Tasks) -> None:
        """`allocate_block` asks the controller; ApiError if it is away, or refuses this broker for now."""
        self._allocate_block = allocate_block
        self._tasks = tasks
        self._block = range(0)
        self._used = 0
        self._following: range | None = None
        self._request: asyncio.Task[None] | None = None

    async def next_id(self) -> int:
        """An id that was never given out before."""
        while self._used == len(self._block):
            if self._following is None:
                await self._wait_for_block()
            # Unless somebody else who waited has begun it already.
            if self._following is not None and self._used == len(self._block):
                self._block, self._used, self._following = self._following, 0, None
        producer_id = self._block[self._used]
        self._used += 1
        if self._used * 100 >= len(self._block) * _PREFETCH_AT_PERCENT:
            self._ask_for_block()
        return producer_id

    async def _wait_for_block(self) -> None:
        request = self._ask_for_block()
        assert request is not None, "there is no following block"
        await asyncio.wait((request,), timeout=PATIENCE_S)
        if not request.done() or request.cancelled():
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the controller has not given any producer ids yet")
        request.result()

    def _ask_for_block(self) -> asyncio.Task[None] | None:
        """Asks for the block after the current one, unless it is there."""
        if self._following is None and self._request is None:
            self._request = self._tasks.start(self._ask())
        return self._request

    async def _ask(self) -> None:
        pause_s = _FIRST_PAUSE_S
        try:
            while True:
                try:
                    block = await self._allocate_block()
                except ApiError as error:
                    logger.log(
                        logging.WARNING if pause_s == _FIRST_PAUSE_S else logging.DEBUG,
                        "The controller gives no producer ids: %s; asking again",
                        error,
                    )
                else:
                    assert block, "a block has ids"
                    self._following = block
                    return
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        finally:
            self._request = None
