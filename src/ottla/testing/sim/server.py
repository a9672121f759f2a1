"""A real node on a simulated machine, through as many lives as the simulation gives it.

A life ends in one of four ways. `shut_down` lets the node stop by itself. `kill` ends the process between two
instructions: what it wrote is in the kernel's memory and stays. `cut_power` ends the machine: of what was not synced
anything may be missing. And the node may end itself, because its disk failed. In each case the next `start` finds the
disks as that end left them.

A kill and a power cut come between two callbacks of the loop, or right after a change of a disk (`strike_at_change`):
so a function that writes to several files is found with some of them written.

Whatever a dead process still had to do is never done; its tasks are kept, so that nothing of them runs when they would
be collected.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from enum import Enum, auto
from pathlib import Path

from ottla.broker.node import Node, StartupError
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY
from ottla.testing.sim.disk import SYNC_NAMES, PowerCut, SimulatedDisk, Survival
from ottla.testing.sim.host import EPOCH_MS, THREAD_S, SimulatedHost
from ottla.testing.sim.loop import Power, SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork

PORT = 9092


class Life(Enum):
    """What a server is doing."""

    DOWN = auto()
    STARTING = auto()
    UP = auto()
    STOPPING = auto()


class SimulatedServer:
    """A machine with disks that outlives the processes on it."""

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        name: str,
        chance: random.Random,
        config: Mapping[str, str],
    ) -> None:
        """`config` names the log directories; each is a disk of its own."""
        self.name = name
        self.life = Life.DOWN
        self.config = BrokerConfig(config)
        self.node: Node | None = None
        self.start_count = 0
        # Why the node ended itself last, and what it should never have ended with.
        self.failure: Exception | None = None
        self.bugs: list[Exception] = []
        # Whether the last life in which it was up ended otherwise than by a shutdown.
        self.has_died = False
        self._loop = loop
        self._network = network
        self._chance = chance
        self.host: SimulatedHost | None = None
        self._clock_error_ms = 0
        # How fast the clocks of the machine run: set before its first life, for all of them.
        self.clock_rate = 1.0
        self._thread_s = THREAD_S
        roots = dict.fromkeys((self.config.metadata_log_dir, *self.config.log_dirs))
        self.disks = {root: SimulatedDisk(root, clock_ms=self._now_ms) for root in roots}

    @property
    def bootstrap(self) -> str:
        return f"{self.name}:{PORT}"

    def _now_ms(self) -> int:
        return EPOCH_MS + self._clock_error_ms + int(self._loop.world_s * self.clock_rate * 1000)

    @property
    def is_up(self) -> bool:
        return self.life is Life.UP

    async def settled(self) -> None:
        """Returns when the start under way has succeeded or failed."""
        while self.life is Life.STARTING:  # noqa: ASYNC110 - in simulated time that costs nothing
            await asyncio.sleep(0.01)

    # -- lives --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins a life."""
        assert self.life is Life.DOWN, f"{self.name} is {self.life.name}"
        self.life = Life.STARTING
        self.start_count += 1
        self.failure = None
        self.host = SimulatedHost(self._loop, self._network, self.name, self._chance, self.disks)
        self.host.clock_error_ms = self._clock_error_ms
        self.host.clock_rate = self.clock_rate
        self.host.thread_s = self._thread_s
        self._loop.start_on(self.host, self._live(self.host))

    async def _live(self, host: SimulatedHost) -> None:
        """A process, from its start to its own end."""
        node = Node(self.config, host=host)
        failure: Exception
        bugs: list[Exception] = []
        try:
            await node.start()
            self.node = node
            self.life = Life.UP
            # A node that cannot go on ends at once, as `ottla.broker.process.run` does.
            failure = await node.failed
        except StartupError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - whoever runs the simulation is to hear of it
            failure = error
            bugs.append(error)
        # A process that died in the middle of its own instructions, or is let go with its world, has nothing to tell.
        if host.power is not Power.OFF:
            self.failure = failure
            self.bugs += bugs
            self._end(host)

    async def shut_down(self) -> None:
        """Stops the node as SIGTERM does."""
        assert self.life is Life.UP, f"{self.name} is {self.life.name}"
        assert self.node is not None
        assert self.host is not None
        self.life = Life.STOPPING
        host = self.host
        stopping = self._loop.start_on(host, self.node.stop())
        await asyncio.wait((stopping,))
        if self.host is host and self.life is Life.STOPPING:
            self._end(host)
            self.has_died = False
            if (error := stopping.exception()) is not None:
                assert isinstance(error, Exception)
                self.bugs.append(error)

    def kill(self) -> None:
        """Ends the process, as SIGKILL does."""
        assert self.host is not None
        self._end(self.host)

    def cut_power(self, survival: Survival) -> None:
        """Ends the machine."""
        host = self.host
        assert host is not None
        self._loop.drop(host)
        self._network.machine_died(host)
        for root, disk in list(self.disks.items()):
            self.disks[root] = disk.after_power_cut(survival, self._chance)
            disk.power_off()
        self._forget()

    def strike_at_change(self, count: int, blow: Callable[[], None]) -> asyncio.Future[None]:
        """Ends this life by a blow in the very moment after its disks have changed so many times more.

        Done when that has happened; who cancels it before calls the blow off. Whatever the process was about to do is
        not done: not the next write of the same function, nor an answer.
        """
        changes_left = count

        def is_due(_verb: str) -> bool:
            nonlocal changes_left
            changes_left -= 1
            return changes_left == 0

        return self._strike_when(is_due, blow)

    def strike_at_checkpoint(self, blow: Callable[[], None]) -> asyncio.Future[None]:
        """As `strike_at_change`, at the next moment in which a name becomes durable and the end of some log is not.

        Files that are replaced as a whole, like checkpoints and snapshots, say something about others; the last
        records of a log need not be what they say.
        """

        def is_due(verb: str) -> bool:
            # The metadata log is synced on its own account: no checkpoint tells of it.
            return verb == SYNC_NAMES and any(
                path.suffix == ".log" and path.parent.name != METADATA_PARTITION_DIRECTORY
                for disk in self.disks.values()
                for path in disk.unsynced_files()
            )

        return self._strike_when(is_due, blow)

    def _strike_when(self, is_due: Callable[[str], bool], blow: Callable[[], None]) -> asyncio.Future[None]:
        struck: asyncio.Future[None] = self._loop.create_future()

        def note_change(verb: str, _path: Path) -> None:
            if not struck.done() and is_due(verb):
                struck.set_result(None)
                blow()
                raise PowerCut

        # The next life has other disks, so nothing has to be taken back.
        for disk in self.disks.values():
            disk.on_change = note_change
        return struck

    def _end(self, host: SimulatedHost) -> None:
        self._loop.drop(host)
        self._network.process_died(host)
        for root, disk in list(self.disks.items()):
            self.disks[root] = disk.clone()
            disk.power_off()
        self._forget()

    def _forget(self) -> None:
        self.has_died = self.has_died if self.life is Life.STARTING else True
        self.life = Life.DOWN
        self.node = None

    # -- what may happen to it meanwhile ------------------------------------------------------------------------------

    def pause(self) -> None:
        """Keeps the machine from doing anything, as SIGSTOP does to a process."""
        assert self.host is not None
        self.host.power = Power.PAUSED

    def resume(self) -> None:
        """Lets it go on, if it was paused."""
        if self.host is not None and self.host.power is Power.PAUSED:
            self._loop.resume(self.host)

    def set_clock(self, error_ms: int) -> None:
        """Sets the wall clock of this machine wrong by so much."""
        self._clock_error_ms = error_ms
        if self.host is not None:
            self.host.clock_error_ms = error_ms

    def slow_down(self, thread_s: float) -> None:
        """Lets everything that waits for a disk take so long on average."""
        self._thread_s = thread_s
        if self.host is not None:
            self.host.thread_s = thread_s
