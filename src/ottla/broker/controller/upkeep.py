"""What the active controller does by itself, while it is active.

    sessions       fences brokers that are silent for too long, one after the other, so that each decision sees the one
                   before; which broker is due is decided in `ottla.metadata.controller.sessions`
    balance        gives leaderships back to preferred replicas (auto.leader.rebalance.enable)
    leaderless     finds leaders for partitions that have none: whose topic has come to allow an unclean election, or
                   which a former controller did not get to

A round of elections is a few decisions of bounded size, with requests in between. What cannot be written in one round
is tried in the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ottla.broker.controller.active_controller import ActiveController
from ottla.broker.controller.deciders import Surroundings
from ottla.metadata.controller.brokers import fence_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.elections import elect_missing_leaders, elect_preferred_leaders
from ottla.metadata.decision import Decision
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.errors import ApiError

logger = logging.getLogger("ottla.broker.controller")

# Kafka's bound.
_ELECTIONS_PER_DECISION = 1000
# Timers reach no further.
_PAUSE_S_MAX = 30 * 24 * 3600.0

T = TypeVar("T")


class Submit(Protocol):
    """Makes a decision and waits until it is committed; ApiError if it cannot be written."""

    def __call__(self, decide: Callable[[ClusterImage], Decision[T]], /) -> Awaitable[T]: ...


class Elect(Protocol):
    """Holds up to `limit` elections, and says whether there may be more to hold."""

    __name__: str

    def __call__(self, image: ClusterImage, /, *, rules: ElectionRules, limit: int) -> Decision[bool]: ...


class Upkeep:
    """Of one active controller."""

    def __init__(self, active: ActiveController, surroundings: Surroundings, submit: Submit) -> None:
        self._active = active
        self._by = surroundings
        self._submit = submit
        config = surroundings.config
        self._tasks = [asyncio.create_task(self._watch_sessions(), name="broker sessions")]
        self._repeat(elect_missing_leaders, config.get_int("unclean.leader.election.interval.ms") / 1000, first_s=0.0)
        if config.get_bool("auto.leader.rebalance.enable"):
            interval_s = config.get_int("leader.imbalance.check.interval.seconds")
            self._repeat(elect_preferred_leaders, interval_s, first_s=interval_s)

    def _repeat(self, elect: Elect, interval_s: float, *, first_s: float) -> None:
        work = self._hold_elections(elect, interval_s, first_s)
        self._tasks.append(asyncio.create_task(work, name=elect.__name__))

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

    async def _hold_elections(self, elect: Elect, interval_s: float, first_s: float) -> None:
        pause_s = first_s
        while True:
            await asyncio.sleep(min(pause_s, _PAUSE_S_MAX))
            pause_s = interval_s
            may_be_more = True
            while may_be_more:
                try:
                    may_be_more = await self._submit(
                        lambda image: elect(image, rules=self._by.election_rules(image), limit=_ELECTIONS_PER_DECISION)
                    )
                except ApiError as error:
                    logger.warning("Leaders could not be elected: %s", error)
                    break
                except Exception:
                    # Whatever it is, the next round must come: nobody else elects leaders.
                    logger.exception("Electing leaders failed; the next round tries again")
                    break

    async def _watch_sessions(self) -> None:
        while True:
            await asyncio.sleep(self._by.sessions.next_look_ms(self._by.now_ms()) / 1000)
            self._by.sessions.look(self._by.now_ms())
            try:
                await self._fence_stale()
            except ApiError as error:
                # The next look tries again, unless leadership was lost in the attempt.
                logger.warning("A silent broker could not be fenced: %s", error)
            except Exception:
                # Whatever it is, the next look must come: nobody else fences silent brokers.
                logger.exception("Looking for silent brokers failed; the next look tries again")

    async def _fence_stale(self) -> None:
        sessions = self._by.sessions
        while (stale := sessions.stale(self._active.pending, self._by.now_ms())) is not None:
            logger.info("Fencing broker %d: silent for %d ms", stale.id, sessions.session_timeout_ms)
            # Before the wait: a heartbeat that arrives meanwhile begins the session again.
            sessions.forget(stale.id)
            await self._fence(stale)

    async def _fence(self, broker: BrokerImage) -> None:
        def fence(image: ClusterImage) -> Decision[None]:
            return fence_broker(image, broker.id, broker.epoch, rules=self._by.election_rules(image))

        await self._submit(fence)
