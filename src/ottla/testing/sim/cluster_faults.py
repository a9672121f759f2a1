"""What goes wrong in a simulated cluster, as the seed has it.

Each kind of fault is a story of its own, and stories run side by side, so that faults meet: a node dies while another
one is frozen, a link is cut while a third one starts. A run chooses some kinds and leaves others out (swarm testing).
Servers that are down, for whatever reason, are started again after a while.

How much is too much. A process that is killed leaves what it wrote in the kernel's memory, so any number of them may
die at any time. A power cut takes what was not synced, and nothing is synced before it is acknowledged: the promise
rests on the other replicas. So power is cut only while every replica of every partition is in sync, and until that is
so once more no other node dies, or stops: the controller cannot tell a process that was killed from a machine without
power, and may take the one that has lost something for the last that was in sync. More would be beyond what
`min.insync.replicas` promises. Some of these nodes come back without any replica, as after a change of the disk; it is
the same loss, and easier to see.

A majority of the nodes is not always up. The cluster stands still then, and goes on afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ottla.metadata.format import METADATA_PARTITION_DIRECTORY
from ottla.protocol.api_keys import ApiKey
from ottla.testing.sim.clients import Clients
from ottla.testing.sim.disk import Survival
from ottla.testing.sim.faults import ServerStaysDown
from ottla.testing.sim.host import THREAD_S
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import Life, SimulatedServer
from ottla.testing.sim.workload import Workload

logger = logging.getLogger("ottla.testing.sim.cluster_faults")

_AT_ANY_TIME_SHARE = 0.3
_MOMENT_WAIT_S = 20.0
_CLIENT_DIES_TOO_SHARE = 0.3
_SLOW_FIRST_SHARE = 0.3
_WIPED_SHARE = 0.3
_DOWN_S = (0.5, 5.0, 30.0)
_KEEPER_S = 0.5
# Within this time a node that is reached again knows what has changed.
_NEWS_S = 5.0
# A start that fails so often in a row, with every fault healed, will always fail.
_STARTS_MAX = 8
_START_PATIENCE_S = 120.0
# Requests after which something may be half done: of clients, of followers, of voters, of brokers to the controller.
_MOMENTS = {
    ApiKey.PRODUCE: 4,
    ApiKey.FETCH: 2,
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.END_TXN: 3,
    ApiKey.WRITE_TXN_MARKERS: 2,
    ApiKey.JOIN_GROUP: 1,
    ApiKey.VOTE: 2,
    ApiKey.BROKER_REGISTRATION: 1,
    ApiKey.BROKER_HEARTBEAT: 1,
    ApiKey.ALTER_PARTITION: 3,
}


@dataclass(frozen=True, slots=True)
class ClusterFaultPlan:
    """Which faults a run has, and how long the pause between two of a kind is on average."""

    kinds: tuple[str, ...]
    pause_s: float

    @classmethod
    def draw(cls, chance: random.Random) -> ClusterFaultPlan:
        """Every run has a way for nodes to die, and some of the other faults."""
        death = chance.choice(_DEATHS)
        others = [kind for kind in KINDS if kind not in _DEATHS and chance.random() < 0.5]
        return cls((death, *others), chance.choice([20.0, 40.0, 80.0]))


class ClusterFaults:
    """Does harm to the servers of a cluster and to the network around them."""

    def __init__(
        self,
        plan: ClusterFaultPlan,
        servers: Sequence[SimulatedServer],
        network: SimulatedNetwork,
        clients: Clients,
        workload: Workload,
        *,
        is_whole: Callable[[], bool],
        chance: random.Random,
    ) -> None:
        """`is_whole` tells whether every replica of every partition is in sync."""
        self.counts: Counter[str] = Counter()
        self.is_over = False
        self._plan = plan
        self._servers = servers
        self._network = network
        self._clients = clients
        self._is_whole = is_whole
        self._workload = workload
        self._chance = chance
        # When a server that is down may be started again.
        self._down_until_s: dict[str, float] = {}
        self._failed_starts: Counter[str] = Counter()
        # Whether a node that lost its power has not got back yet what it lost.
        self._has_loss = False

    async def run(self) -> None:
        """Faults with pauses between them, until it is over; then everything is healed."""
        keeping = asyncio.ensure_future(self._keep_up())
        await asyncio.gather(*(self._tell_story(kind) for kind in self._plan.kinds))
        await self._heal()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    async def bring_up(self) -> None:
        """Starts every server that is down, and returns when all of them are up."""
        deadline_s = self._now_s() + _START_PATIENCE_S
        while not all(server.is_up for server in self._servers):
            for server in self._servers:
                self._start_if_down(server)
            if self._now_s() > deadline_s:
                raise ServerStaysDown(
                    "the nodes do not come up any more: "
                    + ", ".join(f"{one.name} is {one.life.name} after {one.failure!r}" for one in self._servers)
                )
            await asyncio.sleep(_KEEPER_S)
        self._workload.draw_attention()

    # -- stories ------------------------------------------------------------------------------------------------------

    async def _tell_story(self, kind: str) -> None:
        while not self.is_over:
            await asyncio.sleep(self._chance.expovariate(1 / self._plan.pause_s))
            server = self._chance.choice(self._servers)
            asking = await self._wait_for_a_bad_moment(server)
            if self.is_over or server.life is not Life.UP or (self._has_loss and kind in _ENDINGS):
                continue
            self.counts[kind] += 1
            logger.info("%s of %s begins", kind, server.name)
            self._workload.draw_attention()
            if kind in _LEAVES_FORMER_LEADERS:
                with self._workload.stale_answers():
                    await _STORIES[kind](self, server)
                    await asyncio.sleep(_NEWS_S)
            else:
                await _STORIES[kind](self, server)
            logger.info("%s of %s is over", kind, server.name)
            if kind in _DEATHS and asking in self._clients.names and self._chance.random() < _CLIENT_DIES_TOO_SHARE:
                self.counts["client killed"] += 1
                self._clients.kill(asking)

    async def _wait_for_a_bad_moment(self, server: SimulatedServer) -> str:
        """Mostly until something is to be done on the server; who has asked for it, if somebody has."""
        if self._chance.random() < _AT_ANY_TIME_SHARE:
            return ""
        (api_key,) = self._chance.choices(list(_MOMENTS), list(_MOMENTS.values()))
        with contextlib.suppress(TimeoutError):
            asking = await asyncio.wait_for(self._network.next_arrival(server.name, api_key), _MOMENT_WAIT_S)
            await asyncio.sleep(self._chance.choice([0.000_3, 0.003, 0.03, 0.1]) * self._chance.random())
            return asking
        return ""

    async def _keep_up(self) -> None:
        """Starts servers again, those that were ended and those that ended themselves."""
        while True:
            await asyncio.sleep(_KEEPER_S)
            for server in self._servers:
                if self._down_until_s.get(server.name, 0.0) <= self._now_s():
                    self._start_if_down(server)

    def _start_if_down(self, server: SimulatedServer) -> None:
        if server.life is not Life.DOWN:
            if server.is_up:
                self._failed_starts[server.name] = 0
            return
        self._failed_starts[server.name] += 1
        if self.is_over and self._failed_starts[server.name] > _STARTS_MAX:
            raise ServerStaysDown(f"{server.name} does not start any more: {server.failure!r}")
        server.start()
        self._workload.draw_attention()

    async def _heal(self) -> None:
        for server in self._servers:
            server.resume()
            server.slow_down(THREAD_S)
            for disk in server.disks.values():
                disk.faults.heal()
                disk.capacity_bytes = None
        self._clear_links()
        self._failed_starts.clear()
        await self.bring_up()

    def _clear_links(self) -> None:
        names = [server.name for server in self._servers]
        for index, name in enumerate(names):
            for other in (*names[index + 1 :], *self._clients.names):
                self._network.clear(name, other)

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _stay_down(self, server: SimulatedServer) -> None:
        self._down_until_s[server.name] = self._now_s() + self._chance.choice(_DOWN_S) * self._chance.random()

    # -- the faults ---------------------------------------------------------------------------------------------------

    async def kill(self, server: SimulatedServer) -> None:
        if self._chance.random() < _SLOW_FIRST_SHARE:
            await self._slow_a_while(server, 3.0)
        if server.life is Life.UP and not self._has_loss:
            server.kill()
            self._stay_down(server)

    async def kill_controller(self, server: SimulatedServer) -> None:
        """Kills the active controller, whatever else the plan has; the one that is given if there is none."""
        await self.kill(next(filter(_is_active_controller, self._servers), server))

    async def cut_power(self, server: SimulatedServer) -> None:
        if self._chance.random() < _SLOW_FIRST_SHARE:
            await self._slow_a_while(server, 3.0)
        if server.life is Life.UP and self._is_whole():
            self._has_loss = True
            server.cut_power(self._chance.choice(list(Survival)))
            if self._chance.random() < _WIPED_SHARE:
                self.counts["wiped"] += 1
                _wipe(server)
            self._stay_down(server)
            while not (self._is_whole() or self.is_over):  # noqa: ASYNC110 - in simulated time that costs nothing
                await asyncio.sleep(1.0)
            self._has_loss = False

    async def restart(self, server: SimulatedServer) -> None:
        await server.shut_down()
        self._stay_down(server)

    async def pause(self, server: SimulatedServer) -> None:
        server.pause()
        await asyncio.sleep(self._chance.choice([0.5, 5.0, 15.0, 40.0]) * self._chance.random())
        server.resume()

    async def isolate(self, server: SimulatedServer) -> None:
        """Cuts a node off from the others, or from one of them; clients reach it, or do not."""
        others = [one.name for one in self._servers if one is not server]
        cut = self._chance.choice([others, others[:1], others[1:], self._clients.names])
        for name in cut:
            self._network.clog(server.name, name)
        await asyncio.sleep(self._chance.choice([1.0, 5.0, 15.0, 40.0]) * self._chance.random())
        for name in cut:
            self._network.clear(server.name, name)

    async def cut_one_way(self, server: SimulatedServer) -> None:
        """A node hears others that do not hear it, or is heard by others that it does not hear."""
        others = [one.name for one in self._servers if one is not server]
        cut = self._chance.choice([others, others[:1], others[1:], self._clients.names])
        is_heard = self._chance.random() < 0.5
        for name in cut:
            link = self._network.link(name, server.name) if is_heard else self._network.link(server.name, name)
            link.is_clogged = True
        await asyncio.sleep(self._chance.choice([1.0, 5.0, 15.0, 40.0]) * self._chance.random())
        for name in cut:
            self._network.clear(server.name, name)

    async def die_with_words_under_way(self, server: SimulatedServer) -> None:
        """Kills a node whose last requests to the others arrive late, some of them in its next life."""
        others = {one.name for one in self._servers if one is not server}
        assert server.host is not None
        stalled = self._network.stall(server.host, others)
        await asyncio.sleep(self._chance.choice([0.01, 0.3, 3.0]) * self._chance.random())
        await self.kill(server)
        await asyncio.sleep(self._chance.choice([1.0, 5.0, 15.0]) * self._chance.random())
        self._network.unstall(stalled)

    async def slow_down(self, server: SimulatedServer) -> None:
        await self._slow_a_while(server, 20.0)

    async def _slow_a_while(self, server: SimulatedServer, max_s: float) -> None:
        server.slow_down(THREAD_S * self._chance.choice([10, 100, 1_000]))
        await asyncio.sleep(self._chance.random() * max_s)
        server.slow_down(THREAD_S)

    async def set_clock(self, server: SimulatedServer) -> None:
        server.set_clock(int(self._chance.choice([1e2, 1e4, 3.6e6]) * (self._chance.random() * 2 - 1)))

    async def reset(self, server: SimulatedServer) -> None:
        connections = [pair for pair in self._network.connections() if any(one.machine is server.host for one in pair)]
        if connections:
            self._network.reset(self._chance.choice(connections)[0])

    async def fill_disk(self, server: SimulatedServer) -> None:
        disk = self._chance.choice(list(server.disks.values()))
        disk.capacity_bytes = disk.used_bytes + self._chance.choice([0, 100, 5_000])
        await asyncio.sleep(self._chance.random() * 20)
        for one in server.disks.values():
            one.capacity_bytes = None

    async def kill_client(self, _server: SimulatedServer) -> None:
        self._clients.kill(self._chance.choice(self._clients.names))


def _wipe(server: SimulatedServer) -> None:
    """Takes every replica from a server that is down; what remains is the node as such, and its part of the quorum."""
    for root, disk in server.disks.items():
        for name in disk.list_directory(root):
            if disk.is_directory(root / name) and name != METADATA_PARTITION_DIRECTORY:
                disk.remove_tree(root / name)
            elif name.endswith("-checkpoint"):
                disk.remove(root / name)
        disk.sync_directory(root)


def _is_active_controller(server: SimulatedServer) -> bool:
    controller = None if server.node is None else server.node._controller
    return controller is not None and controller.is_active


CONTROLLER_KILLED = "controller killed"
_STORIES: dict[str, Callable[[ClusterFaults, SimulatedServer], Awaitable[None]]] = {
    "kill": ClusterFaults.kill,
    "power cut": ClusterFaults.cut_power,
    "restart": ClusterFaults.restart,
    "pause": ClusterFaults.pause,
    "isolation": ClusterFaults.isolate,
    "one-way cut": ClusterFaults.cut_one_way,
    "late words": ClusterFaults.die_with_words_under_way,
    "slow disk": ClusterFaults.slow_down,
    "clock": ClusterFaults.set_clock,
    "reset": ClusterFaults.reset,
    "full disk": ClusterFaults.fill_disk,
    "client killed": ClusterFaults.kill_client,
    CONTROLLER_KILLED: ClusterFaults.kill_controller,
}
KINDS = tuple(kind for kind in _STORIES if kind != CONTROLLER_KILLED)
_DEATHS = ("kill", "power cut")
_ENDINGS = ("kill", "late words", "restart", CONTROLLER_KILLED)
# A node that hears nothing, or leads nothing any more and has not heard of it yet, may still answer. One that cannot
# write the metadata, or not soon, does not hear of them either.
_LEAVES_FORMER_LEADERS = ("pause", "isolation", "one-way cut", "late words", "restart", "full disk", "slow disk")
