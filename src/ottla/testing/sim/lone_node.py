"""A world with one node: nothing is replicated, so whatever it acknowledges must survive on its own disks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from ottla.config.broker_config import single_node_defaults
from ottla.testing.history import Promise
from ottla.testing.sim.clients import Clients
from ottla.testing.sim.faults import FaultPlan, Faults
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import PORT, SimulatedServer
from ottla.testing.sim.workload import Workload

SERVER = "node-1"


class LoneNode:
    """One server, and the harm that is done to it."""

    bootstrap = f"{SERVER}:{PORT}"
    promise = Promise()

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        chance: random.Random,
        chance_of: Callable[[str], random.Random],
    ) -> None:
        self._network = network
        self._chance_of = chance_of
        self._is_synced = chance.random() < 0.5
        config = _draw_config(chance, is_synced=self._is_synced)
        self.servers = [SimulatedServer(loop, network, SERVER, chance_of("server"), config)]

    def faults(self, chance: random.Random, clients: Clients, workload: Workload) -> Faults:
        """What goes wrong in this run."""
        plan = FaultPlan.draw(chance, is_synced=self._is_synced)
        on_up = workload.draw_attention
        return Faults(plan, self.servers[0], self._network, clients, on_up, self._chance_of("faults"))

    async def watch(self) -> None:
        """With one node, everything that can be wrong shows in what clients read."""

    async def look(self) -> list[str]:
        """As above."""
        return []


def _draw_config(chance: random.Random, *, is_synced: bool) -> dict[str, str]:
    root = Path("/disk-1")
    config = single_node_defaults(root, f"{SERVER}:{PORT}")
    config |= {
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "500",
        # The way to small segments: segment.bytes may not be below a megabyte.
        "log.roll.ms": str(chance.choice([300, 10_000, 60_000, 604_800_000])),
        "log.index.interval.bytes": str(chance.choice([64, 1024, 4096])),
        "metadata.log.max.record.bytes.between.snapshots": str(chance.choice([5_000, 20 * 1024 * 1024])),
        "metadata.max.idle.interval.ms": str(chance.choice([500, 5_000, 5_000, 5_000])),
        "log.cleaner.backoff.ms": "15000",
        "log.flush.offset.checkpoint.interval.ms": str(chance.choice([1_000, 60_000])),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "5000",
    }
    if chance.random() < 0.5:
        config["log.dirs"] = "/disk-1,/disk-2"
    if is_synced:
        config["log.flush.interval.messages"] = "1"
    return config
