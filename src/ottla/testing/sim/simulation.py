"""One run: nodes and their clients, faults for a while, then peace, and the question whether anything is wrong.

    draw        what the nodes' settings are, which faults come, how much the clients do
    harm        loads run and faults come, for the time that was asked for
    heal        all faults end; every load comes to its end, and open transactions to theirs
    look        every partition is read, and the history is checked

A run depends on its world, its seed and its length alone. `Report.trace` is a digest of everything that the clients
were told: two runs of the same seed have the same.
"""

from __future__ import annotations

import asyncio
import random
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ottla.testing.history import Anomaly, AnomalyKind, Promise
from ottla.testing.sim.clients import Clients
from ottla.testing.sim.faults import ServerStaysDown
from ottla.testing.sim.load import TRANSACTION_TIMEOUT_MS
from ottla.testing.sim.lone_node import LoneNode
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import SimulatedServer
from ottla.testing.sim.workload import Workload


class Harm(Protocol):
    """The faults of a run."""

    counts: Counter[str]
    is_over: bool

    async def bring_up(self) -> None:
        """Starts the servers; ServerStaysDown if one cannot be started any more."""

    async def run(self) -> None:
        """Does harm until it is over, then heals everything."""


class World(Protocol):
    """The servers of a run, as they were drawn."""

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""

    @property
    def promise(self) -> Promise:
        """What the servers keep of that which they acknowledge."""

    @property
    def servers(self) -> Sequence[SimulatedServer]: ...

    def faults(self, chance: random.Random, clients: Clients, workload: Workload) -> Harm:
        """What goes wrong in this run."""

    async def watch(self) -> None:
        """Looks at the servers while harm is done, until it is cancelled."""

    async def look(self) -> list[str]:
        """What is wrong with the servers, after everything is healed and the clients are gone."""


WorldFactory = Callable[[SimulatedLoop, SimulatedNetwork, random.Random, Callable[[str], random.Random]], World]


@dataclass(slots=True)
class Report:
    """What came of a run."""

    seed: int
    simulated_s: float = 0.0
    anomalies: list[Anomaly] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    operation_count: int = 0
    callback_count: int = 0
    trace: str = ""

    def __str__(self) -> str:
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        lines = [
            f"seed {self.seed}: {self.simulated_s:.0f} s, {self.operation_count} operations, "
            f"{self.callback_count} callbacks, faults: {faults or 'none'}; trace {self.trace}"
        ]
        lines += [f"  {anomaly}" for anomaly in self.anomalies]
        return "\n".join(lines)


def simulate(seed: int, duration_s: float, world: WorldFactory = LoneNode) -> Report:
    """Runs one simulation to its end."""
    return Simulation(seed, duration_s, world).run()


class Simulation:
    """Everything of one run."""

    def __init__(self, seed: int, duration_s: float, world: WorldFactory = LoneNode) -> None:
        self.report = Report(seed)
        self._duration_s = duration_s
        self.loop = SimulatedLoop()

        def chance_of(purpose: str) -> random.Random:
            """A source of its own for each purpose: what one of them draws changes nothing for the others."""
            return random.Random(f"{seed} {purpose}")

        network = SimulatedNetwork(self.loop, chance_of("network"))
        chance = chance_of("settings")
        self._world = world(self.loop, network, chance, chance_of)
        self._workload = Workload(self._world.bootstrap, self._world.promise, chance, self._server_life)
        self._clients = Clients(self.loop, network, self._world.bootstrap, self._workload.loads, chance_of)
        self._faults = self._world.faults(chance, self._clients, self._workload)

    def _server_life(self) -> int | None:
        """Which life of its only server the world is in."""
        servers = self._world.servers
        return servers[0].start_count if len(servers) == 1 else None

    def run(self) -> Report:
        report = self.report
        try:
            self.loop.run_until_complete(self._run())
        except ServerStaysDown as error:
            self._tell(AnomalyKind.NO_PROGRESS, str(error))
        finally:
            report.simulated_s = self.loop.time()
            report.callback_count = self.loop.callback_count
            report.faults = self._faults.counts
            self.loop.close()
        report.anomalies += self._workload.anomalies
        report.operation_count = self._workload.operation_count
        report.trace = self._workload.trace
        self._tell_bugs()
        return report

    async def _run(self) -> None:
        await self._faults.bring_up()
        await self._clients.run_once("setup", self._workload.create_topics)
        self._clients.start()
        watching = asyncio.ensure_future(self._world.watch())
        harm = asyncio.ensure_future(self._faults.run())
        await asyncio.wait((harm,), timeout=self._duration_s)
        self._faults.is_over = True
        await harm
        watching.cancel()
        self._tell(AnomalyKind.NO_PROGRESS, *await self._clients.end())
        # Transactions of clients that died end when their time is over.
        await asyncio.sleep(2 * TRANSACTION_TIMEOUT_MS / 1000)
        await self._clients.run_once("look", self._workload.look)
        self._tell(AnomalyKind.BROKEN_INVARIANT, *await self._world.look())

    def _tell(self, kind: AnomalyKind, *sentences: str) -> None:
        self.report.anomalies += [Anomaly(kind, sentence) for sentence in sentences]

    def _tell_bugs(self) -> None:
        for server in self._world.servers:
            for error in server.bugs:
                trace = "".join(traceback.format_exception(error))
                self._tell(AnomalyKind.NODE_ERROR, f"{server.name} ended with an error that is ours: {trace}")
        for failure in self.loop.failures:
            what = f"an error that nobody took: {failure.get('message')}: {failure.get('exception')!r}"
            self._tell(AnomalyKind.NODE_ERROR, what)
