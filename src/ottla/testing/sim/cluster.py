"""A world with three nodes, each a broker and a controller, and topics with three replicas.

What is checked while the run goes on is said in `cluster_watch`. At the end every replica has to be in sync again
within a while.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from ottla.broker.disks.storage_format import write_plan
from ottla.metadata.format import plan_format
from ottla.metadata.image import ClusterImage
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ottla.storage.log_directory import LogDirectory
from ottla.storage.meta_properties import MetaProperties
from ottla.testing.history import Promise
from ottla.testing.sim.clients import LIVENESS_S, Clients
from ottla.testing.sim.cluster_faults import CONTROLLER_KILLED, ClusterFaultPlan, ClusterFaults
from ottla.testing.sim.cluster_watch import ClusterWatch
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import PORT, SimulatedServer
from ottla.testing.sim.workload import Workload

NODE_COUNT = 3
CONTROLLER_PORT = 9093
ROOT = Path("/disk-1")
_WATCH_S = 5.0
# How many clocks run too fast or too slow, and by how much.
_DRIFTING_SHARE = 0.5
_DRIFT = (0.01, 0.03)
_NAMES = {node_id: f"node-{node_id}" for node_id in range(1, NODE_COUNT + 1)}


class ClusterOfThree:
    """Three servers, and the harm that is done to them."""

    bootstrap = ",".join(f"{name}:{PORT}" for name in _NAMES.values())
    # A leader that dies takes with it what no follower has fetched.
    promise = Promise(keeps_acks_1=False)

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        chance: random.Random,
        chance_of: Callable[[str], random.Random],
    ) -> None:
        self._network = network
        self._chance_of = chance_of
        drawn = _draw_config(chance)
        self.servers = [
            SimulatedServer(loop, network, name, chance_of(name), _settings(node_id) | drawn)
            for node_id, name in _NAMES.items()
        ]
        for node_id, server in enumerate(self.servers, 1):
            if chance.random() < _DRIFTING_SHARE:
                server.clock_rate = 1 + chance.choice([-1, 1]) * chance.uniform(*_DRIFT)
            _format(server, node_id)
        self._watch = self._new_watch()

    def _new_watch(self) -> ClusterWatch:
        return ClusterWatch(self.servers)

    def _draw_plan(self, chance: random.Random) -> ClusterFaultPlan:
        return ClusterFaultPlan.draw(chance)

    def faults(self, chance: random.Random, clients: Clients, workload: Workload) -> ClusterFaults:
        """What goes wrong in this run."""
        return ClusterFaults(
            self._draw_plan(chance),
            self.servers,
            self._network,
            clients,
            workload,
            is_whole=self._is_whole,
            chance=self._chance_of("faults"),
        )

    async def watch(self) -> None:
        """Notes what the nodes do, and looks at the replicas again and again, until it is cancelled."""
        with self._watch.watching():
            while True:
                await asyncio.sleep(_WATCH_S)
                self._watch.look()

    async def look(self) -> list[str]:
        """What is wrong with the replicas, after everything is healed."""
        deadline_s = asyncio.get_running_loop().time() + LIVENESS_S
        while not self._is_whole() and asyncio.get_running_loop().time() < deadline_s:  # noqa: ASYNC110 - as above
            await asyncio.sleep(1.0)
        self._watch.look()
        found = list(self._watch.anomalies)
        if not self._is_whole():
            found.append(
                f"not every replica is in sync {LIVENESS_S:g} s after everything was healed: {self._lagging()}"
            )
        return [*found, *self._watch.unequal_logs(), *self._watch.unequal_producers()]

    def _is_whole(self) -> bool:
        return all(server.is_up for server in self.servers) and not self._lagging()

    def _lagging(self) -> list[str]:
        """Partitions of which not every replica is in sync, as the newest image has them."""
        image = max(
            (server.node.image for server in self.servers if server.node is not None),
            key=lambda image: image.end_offset,
            default=None,
        )
        return ["no node is up"] if image is None else list(_lagging_partitions(image))


class HarshCluster(ClusterOfThree):
    """The same, but faults follow so closely upon each other that they meet: many a bug needs two of them at once."""

    def _draw_plan(self, chance: random.Random) -> ClusterFaultPlan:
        death = chance.choice(["kill", "power cut"])
        kinds = ("pause", "isolation", "one-way cut", "late words", "restart", "slow disk")
        return ClusterFaultPlan((death, *kinds), pause_s=10.0)


class QuietCluster(ClusterOfThree):
    """The same, but only the active controller dies, now and then: nobody has a reason to give up another node."""

    def _new_watch(self) -> ClusterWatch:
        return ClusterWatch(self.servers, is_quiet=True)

    def _draw_plan(self, chance: random.Random) -> ClusterFaultPlan:
        return ClusterFaultPlan((CONTROLLER_KILLED,), pause_s=chance.choice([60.0, 120.0]))


def _lagging_partitions(image: ClusterImage) -> Iterator[str]:
    for topic in image.topics:
        for index, state in topic.partitions.items():
            if set(state.isr) != set(state.replicas):
                yield f"{topic.name}-{index}"


def _settings(node_id: int) -> dict[str, str]:
    name = _NAMES[node_id]
    return {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "listeners": f"PLAINTEXT://{name}:{PORT},CONTROLLER://{name}:{CONTROLLER_PORT}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": ",".join(f"{one}:{CONTROLLER_PORT}" for one in _NAMES.values()),
        "log.dirs": str(ROOT),
        "default.replication.factor": str(NODE_COUNT),
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": str(NODE_COUNT),
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.replication.factor": str(NODE_COUNT),
        "transaction.state.log.min.isr": "2",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "500",
        "log.cleaner.backoff.ms": "15000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "5000",
    }


def _draw_config(chance: random.Random) -> dict[str, str]:
    """What all nodes of a run have in common."""
    # Short in some runs, so that a broker that is cut off for a while is fenced before its clients lose patience.
    session_timeout_ms = chance.choice([2_500, 9_000])
    return {
        # The way to small segments: segment.bytes may not be below a megabyte.
        "log.roll.ms": str(chance.choice([10_000, 60_000, 604_800_000])),
        "log.index.interval.bytes": str(chance.choice([64, 1024, 4096])),
        # Small, so that nodes that were away need a snapshot.
        "metadata.log.max.record.bytes.between.snapshots": str(chance.choice([5_000, 20 * 1024 * 1024])),
        "metadata.max.retention.bytes": str(chance.choice([20_000, 100 * 1024 * 1024])),
        "metadata.max.idle.interval.ms": str(chance.choice([500, 5_000])),
        "log.flush.offset.checkpoint.interval.ms": str(chance.choice([1_000, 60_000])),
        "replica.high.watermark.checkpoint.interval.ms": str(chance.choice([1_000, 5_000])),
        "replica.lag.time.max.ms": str(chance.choice([10_000, 30_000])),
        "broker.session.timeout.ms": str(session_timeout_ms),
        "broker.heartbeat.interval.ms": str(session_timeout_ms // 5),
        # Short, so that leaderships go back and forth.
        "leader.imbalance.check.interval.seconds": str(chance.choice([3, 300])),
        # Short, so that a partition without a leader is often looked at: nobody who may lack records must lead it.
        "unclean.leader.election.interval.ms": str(chance.choice([2_000, 300_000])),
        "num.replica.fetchers": str(chance.choice([1, 2])),
        # Small, so that a replica that was away comes back in many steps.
        "replica.fetch.max.bytes": str(chance.choice([300, 1024 * 1024])),
    }


def _format(server: SimulatedServer, node_id: int) -> None:
    """As an operator does, with all three as voters (kraft.version 1)."""
    voters = VoterSet(
        tuple(
            Voter(ReplicaKey(key, _directory_id(key)), (VoterEndpoint("CONTROLLER", name, CONTROLLER_PORT),))
            for key, name in _NAMES.items()
        )
    )
    plan = plan_format(given_cluster_id=None, random_uuid=b"cluster".ljust(16), voters=voters, now_ms=0)
    directory = LogDirectory(server.disks[ROOT])
    write_plan(directory, plan)
    directory.write_meta_properties(MetaProperties(plan.cluster_id, node_id, _directory_id(node_id)))
    directory.take_offline()


def _directory_id(node_id: int) -> bytes:
    return bytes([node_id]) * 16
