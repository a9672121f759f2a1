"""What goes wrong in a simulation, as the seed has it.

Two stories run side by side: conditions, which last for a while (a slow disk, a clogged link), and blows, after which
the server is brought back (a kill, a power cut). The worst comes of both together: a process that dies while its disk
is slow dies with much that was not synced.

A run chooses some kinds of faults and leaves others out (swarm testing: a run in which everything happens has few runs
of anything). Faults that last are healed after a while, and all of them at the end. Power cuts are for runs in which
every acknowledged write was synced: with one replica nothing else would be promised. Nor is a sync ever refused in such
a run: what a disk failed to sync is in memory still, and a process that finds it there cannot know that it will be gone
after a power cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ottla.protocol.api_keys import ApiKey
from ottla.testing.sim.clients import Clients
from ottla.testing.sim.disk import DiskOperation, Survival
from ottla.testing.sim.host import THREAD_S
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import Life, SimulatedServer

logger = logging.getLogger("ottla.testing.sim.faults")

# With every fault healed before it, a start that fails so often will always fail.
_STARTS_MAX = 5
_AT_ANY_TIME_SHARE = 0.2
_MOMENT_WAIT_S = 20.0
_SLOW_FIRST_SHARE = 0.75
_CLIENT_DIES_TOO_SHARE = 0.7
# How often a server dies right after a change of its disks, how many changes later at most, and how long that may take.
_AT_CHANGE_SHARE = 0.7
_CHANGES_MAX = (2, 4, 8)
_CHANGE_WAIT_S = 3.0
_AT_CHECKPOINT_SHARE = 0.3
_CHECKPOINT_WAIT_S = 10.0
# Requests of which something comes, and how often each is waited for: most often those that acknowledge or settle.
_MOMENTS = {
    ApiKey.PRODUCE: 2,
    ApiKey.OFFSET_COMMIT: 4,
    ApiKey.END_TXN: 9,
    ApiKey.TXN_OFFSET_COMMIT: 1,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.JOIN_GROUP: 1,
    ApiKey.CREATE_TOPICS: 1,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
}


class ServerStaysDown(Exception):
    """The node cannot be started any more."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which faults a run has, and how often."""

    kinds: tuple[str, ...]
    pause_s: float

    @classmethod
    def draw(cls, chance: random.Random, *, is_synced: bool) -> FaultPlan:
        """Some kinds of faults; every run has a way for the server to die."""
        death = "power cut" if is_synced else "kill"
        possible = [kind for kind in KINDS if kind not in {"power cut", death}]
        kinds = [kind for kind in possible if chance.random() < 0.5]
        return cls((death, *kinds), chance.choice([5.0, 10.0, 20.0, 60.0]))


class Faults:
    """Does harm to one server and the network around it."""

    def __init__(
        self,
        plan: FaultPlan,
        server: SimulatedServer,
        network: SimulatedNetwork,
        clients: Clients,
        on_up: Callable[[], None],
        chance: random.Random,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.is_over = False
        self._plan = plan
        self._server = server
        self._network = network
        self._clients = clients
        self._on_up = on_up
        self._chance = chance

    async def run(self) -> None:
        """Faults with pauses between them, until it is over; then everything is healed."""
        blows = [kind for kind in self._plan.kinds if kind in _BLOWS]
        conditions = [kind for kind in self._plan.kinds if kind in _CONDITIONS]
        await asyncio.gather(self._tell_story(blows, _BLOWS), self._tell_story(conditions, _CONDITIONS))
        await self.heal()

    async def _tell_story(self, kinds: Sequence[str], do: Mapping[str, Callable[[Faults], Awaitable[None]]]) -> None:
        while kinds and not self.is_over:
            await asyncio.sleep(self._chance.expovariate(1 / self._plan.pause_s))
            kind = self._chance.choice([*kinds, *(one for one in kinds if one in _DEATHS)])
            if kind not in _DEATHS:
                await self._wait_for_a_bad_moment()
            if do is _BLOWS and self._server.life is Life.DOWN:
                # It ended itself. Between two blows nobody else has it down.
                await self.bring_up()
            if self._server.life is Life.UP and not self.is_over:
                self.counts[kind] += 1
                logger.info("%s begins", kind)
                await do[kind](self)
                logger.info("%s is over", kind)

    async def _wait_for_a_bad_moment(self, on_arrival: Callable[[], None] = lambda: None) -> str | None:
        """Mostly until something is to be written on the server: a fault while it is idle harms nobody.

        Returns the name of the client that has asked for it, if somebody has. `on_arrival` is called before the server
        has read the request.
        """
        if self._chance.random() < _AT_ANY_TIME_SHARE:
            return None
        (api_key,) = self._chance.choices(list(_MOMENTS), list(_MOMENTS.values()))
        with contextlib.suppress(TimeoutError):
            arrival = self._network.next_arrival(self._server.name, api_key, on_arrival)
            asking = await asyncio.wait_for(arrival, _MOMENT_WAIT_S)
            await asyncio.sleep(self._chance.choice([0.000_3, 0.003, 0.03, 0.1]) * self._chance.random())
            return asking
        return None

    async def heal(self) -> None:
        """Nothing is wrong any more, and the server is up."""
        for disk in self._server.disks.values():
            disk.faults.heal()
            disk.capacity_bytes = None
        self._server.resume()
        self._server.slow_down(THREAD_S)
        for name in self._clients.names:
            self._network.clear(self._server.name, name)
        await self.bring_up()

    async def bring_up(self) -> None:
        """Starts the server until it stays up; ServerStaysDown if that never comes about."""
        tries = 0
        while self._server.life is Life.DOWN:
            tries += 1
            self._server.start()
            await self._server.settled()
            if not self._server.is_up:
                if tries == _STARTS_MAX:
                    raise ServerStaysDown(f"the node does not start any more: {self._server.failure!r}")
                for disk in self._server.disks.values():
                    disk.faults.heal()
                    disk.capacity_bytes = None
                await asyncio.sleep(0.5)
        self._on_up()

    # -- the faults -------------------------------------------------------------------------------------------------

    async def _down_time(self) -> None:
        await asyncio.sleep(self._chance.choice([0.05, 0.5, 3.0, 20.0]) * self._chance.random())
        await self.bring_up()

    async def kill(self) -> None:
        await self._strike(self._server.kill)

    async def cut_power(self) -> None:
        survival = self._chance.choice(list(Survival))
        # A kill loses nothing that was written, so what a checkpoint says stays true.
        await self._strike(lambda: self._server.cut_power(survival), at_checkpoint_share=_AT_CHECKPOINT_SHARE)

    async def _strike(self, blow: Callable[[], None], at_checkpoint_share: float = 0.0) -> None:
        """Ends the server, often after a while with a slow disk, so that much is under way.

        Mostly it dies between two changes of its disks, so that only some of the writes that belong together are made,
        or that a checkpoint is durable and what it tells of is not.
        Often the client that waits for an answer dies as well, as in a rack without power. Then nobody repeats the
        request, and the next life begins with whatever the server has made of it.
        """
        is_slowed = self._chance.random() < _SLOW_FIRST_SHARE
        if is_slowed:
            self._server.slow_down(THREAD_S * self._chance.choice([100, 1_000]))
            await asyncio.sleep(self._chance.random() * 3)
        asking = None
        if self._chance.random() < at_checkpoint_share:
            await self._await_blow(self._server.strike_at_checkpoint(blow), _CHECKPOINT_WAIT_S)
        elif self._chance.random() < _AT_CHANGE_SHARE:
            asking = await self._strike_at_change(blow)
        else:
            asking = await self._wait_for_a_bad_moment()
        if self._server.life is Life.UP:
            blow()
        logger.info("struck")
        if asking is not None and self._chance.random() < _CLIENT_DIES_TOO_SHARE:
            logger.info("%s dies too", asking)
            self.counts["client killed"] += 1
            self._clients.kill(asking)
        if is_slowed:
            self._server.slow_down(THREAD_S)
        await self._down_time()

    async def _strike_at_change(self, blow: Callable[[], None]) -> str | None:
        """Strikes between two changes of the disks that a request leads to; returns who has asked for it.

        The server survives if no request comes, or if it changes too little.
        """
        struck: asyncio.Future[None] | None = None
        count = self._chance.randint(1, self._chance.choice(_CHANGES_MAX))

        def arm() -> None:
            nonlocal struck
            if self._server.life is Life.UP:
                struck = self._server.strike_at_change(count, blow)

        asking = await self._wait_for_a_bad_moment(arm)
        if struck is not None:
            await self._await_blow(struck, _CHANGE_WAIT_S)
        return asking

    async def _await_blow(self, struck: asyncio.Future[None], patience_s: float) -> None:
        """Returns when the blow has fallen, or been called off because its moment did not come."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(struck, patience_s)

    async def kill_while_starting(self) -> None:
        """Dies, and dies again before it is up."""
        self._server.kill()
        self._server.start()
        await asyncio.sleep(self._chance.random() * 0.02)
        if self._server.life is not Life.DOWN:
            self._server.kill()
        await self._down_time()

    async def restart(self) -> None:
        await self._server.shut_down()
        await self._server.settled()
        await self._down_time()

    async def pause(self) -> None:
        self._server.pause()
        await asyncio.sleep(self._chance.choice([0.1, 2.0, 12.0, 40.0]) * self._chance.random())
        self._server.resume()

    async def set_clock(self) -> None:
        self._server.set_clock(int(self._chance.choice([1e2, 1e4, 3.6e6]) * (self._chance.random() * 2 - 1)))

    async def slow_down(self) -> None:
        self._server.slow_down(THREAD_S * self._chance.choice([10, 100, 1_000]))
        await asyncio.sleep(self._chance.random() * 20)
        self._server.slow_down(THREAD_S)

    async def clog(self) -> None:
        name = self._chance.choice(self._clients.names)
        self._network.clog(self._server.name, name)
        await asyncio.sleep(self._chance.choice([0.5, 5.0, 20.0]) * self._chance.random())
        self._network.clear(self._server.name, name)

    async def reset(self) -> None:
        connections = self._network.connections()
        if connections:
            self._network.reset(self._chance.choice(connections)[0])

    async def fill_disk(self) -> None:
        disk = self._chance.choice(list(self._server.disks.values()))
        disk.capacity_bytes = disk.used_bytes + self._chance.choice([0, 100, 5_000])
        await asyncio.sleep(self._chance.random() * 20)
        for one in self._server.disks.values():
            one.capacity_bytes = None

    async def fail_disk(self) -> None:
        disk = self._chance.choice(list(self._server.disks.values()))
        possible = [
            one for one in DiskOperation if one is not DiskOperation.SYNC or "power cut" not in self._plan.kinds
        ]
        disk.faults.fail(self._chance.choice(possible), times=self._chance.choice([1, 3]))
        await asyncio.sleep(self._chance.random() * 10)
        disk.faults.heal()
        # A directory that has failed stays offline until the next start.
        if self._server.life is Life.UP:
            self._server.kill()
        await self.bring_up()

    async def kill_client(self) -> None:
        self._clients.kill(self._chance.choice(self._clients.names))


_BLOWS: dict[str, Callable[[Faults], Awaitable[None]]] = {
    "kill": Faults.kill,
    "power cut": Faults.cut_power,
    "kill while starting": Faults.kill_while_starting,
    "restart": Faults.restart,
    "failing disk": Faults.fail_disk,
    "client killed": Faults.kill_client,
    "reset": Faults.reset,
}
_CONDITIONS: dict[str, Callable[[Faults], Awaitable[None]]] = {
    "pause": Faults.pause,
    "clock": Faults.set_clock,
    "slow disk": Faults.slow_down,
    "clogged link": Faults.clog,
    "full disk": Faults.fill_disk,
}
KINDS = (*_BLOWS, *_CONDITIONS)
# These choose their moment themselves.
_DEATHS = ("kill", "power cut")
