"""What the active controller does by itself, while it is active: it fences brokers that are silent for too long.

Brokers are fenced one after the other, so that each decision sees the one before. Which broker is due, and what a pause
of this process means, is decided in `ottla.metadata.controller.sessions`; here is the clock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ottla.broker.controller.active_controller import ActiveController
from ottla.broker.controller.deciders import Surroundings
from ottla.metadata.controller.brokers import fence_broker
from ottla.metadata.decision import Decision
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.errors import ApiError

logger = logging.getLogger("ottla.broker.controller")

Submit = Callable[[Callable[[ClusterImage], Decision[None]]], Awaitable[None]]


class Upkeep:
    """Of one active controller; `submit` makes a decision, and raises ApiError while none can be written."""

    def __init__(self, active: ActiveController, surroundings: Surroundings, submit: Submit) -> None:
        self._active = active
        self._by = surroundings
        self._submit = submit
        self._tasks = [asyncio.create_task(self._watch_sessions(), name="broker sessions")]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def broker_died(self, broker_id: int, broker_epoch: int) -> None:
        """Fences a broker whose process is known to be gone, if it still has this epoch."""
        broker = self._active.pending.brokers.get(broker_id)
        if broker is not None and broker.epoch == broker_epoch:
            self._by.sessions.forget(broker_id)
            if not broker.is_fenced:
                logger.info("Fencing broker %d: its process is gone", broker_id)
                await self._fence(broker)

    async def _watch_sessions(self) -> None:
        while True:
            await asyncio.sleep(self._by.sessions.look_interval_ms / 1000)
            self._by.sessions.look(self._by.now_ms())
            try:
                await self._fence_stale()
            except ApiError as error:
                # The next look tries again, unless leadership was lost in the attempt.
                logger.warning("A silent broker could not be fenced: %s", error)

    async def _fence_stale(self) -> None:
        sessions = self._by.sessions
        while (stale := sessions.stale(self._active.pending, self._by.now_ms())) is not None:
            logger.info("Fencing broker %d: silent for %d ms", stale.id, sessions.session_timeout_ms)
            await self._fence(stale)
            sessions.forget(stale.id)

    async def _fence(self, broker: BrokerImage) -> None:
        def fence(image: ClusterImage) -> Decision[None]:
            return fence_broker(image, broker.id, broker.epoch, rules=self._by.election_rules(image))

        await self._submit(fence)
