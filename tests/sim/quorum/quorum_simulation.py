"""Whole controllers on simulated machines: real connections, logs and snapshots, and faults that repeat from a seed.

Unlike `tests/sim/raft`, which drives the state machine alone, nothing of the node is replaced but its machine. Checked
at every change: each epoch has one leader at most; images at the same offset are equal; a committed batch is the same
on every node. At the end, after everything is healed: one controller is active, and whatever it ever acknowledged is
known to all. A broker without a vote may be among them, which follows the log without syncing it.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.controller.role import ControllerRole
from ottla.broker.disks.storage_format import write_plan
from ottla.metadata.decision import Decision
from ottla.metadata.format import plan_format
from ottla.metadata.image import ClusterImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ottla.storage.log_directory import LogDirectory
from ottla.storage.meta_properties import MetaProperties
from ottla.testing.sim.disk import Survival
from ottla.testing.sim.host import THREAD_S
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import Life, SimulatedServer

PORT = 9093
ROOT = Path("/data")
METADATA = Path("__cluster_metadata-0")
HEALING_S = 30.0


class Anomaly(AssertionError):
    """The quorum broke a promise."""


class QuorumSimulation:
    def __init__(
        self,
        seed: int,
        *,
        is_static: bool,
        count: int = 3,
        has_broker: bool = False,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.chance = random.Random(f"{seed} quorum")
        self.loop = SimulatedLoop()
        self.network = SimulatedNetwork(self.loop, random.Random(f"{seed} network"))
        self.names = {node_id: f"node-{node_id}" for node_id in range(1, count + 1)}
        self.servers = {
            node_id: SimulatedServer(
                self.loop,
                self.network,
                name,
                random.Random(f"{seed} {name}"),
                self._settings(node_id, is_static=is_static) | (settings or {}),
            )
            for node_id, name in self.names.items()
        }
        if has_broker:
            self.servers[count + 1] = SimulatedServer(
                self.loop,
                self.network,
                f"node-{count + 1}",
                random.Random(f"{seed} broker"),
                self._broker_settings(count + 1, is_static=is_static) | (settings or {}),
            )
        self.faults: Counter[str] = Counter()
        self.leaders: dict[int, int] = {}
        self.images: dict[int, ClusterImage] = {}
        self.batches: dict[int, bytes] = {}
        self.acknowledged: set[str] = set()
        self.anomalies: list[str] = []
        self._is_static = is_static
        self._asked = 0
        self._is_over = False
        self._waiting: list[asyncio.Future[None]] = []
        # Kept, since a machine that dies lets nobody wait for them.
        self._asking: list[asyncio.Task[None]] = []
        self._format(None if is_static else self._voters())

    def _broker_settings(self, node_id: int, *, is_static: bool) -> dict[str, str]:
        broker = {"process.roles": "broker", "listeners": f"PLAINTEXT://node-{node_id}:9092"}
        return self._settings(1, is_static=is_static) | broker | {"node.id": str(node_id)}

    def _settings(self, node_id: int, *, is_static: bool) -> dict[str, str]:
        addresses = {key: f"{name}:{PORT}" for key, name in self.names.items()}
        voters = ",".join(f"{key}@{address}" for key, address in addresses.items())
        named = {"controller.quorum.bootstrap.servers": ",".join(addresses.values())}
        return {
            "process.roles": "controller",
            "node.id": str(node_id),
            "listeners": f"CONTROLLER://{addresses[node_id]}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(ROOT),
            # Small, so that nodes that were away need a snapshot.
            "metadata.log.max.record.bytes.between.snapshots": "2000",
            "metadata.max.retention.bytes": "4000",
        } | ({"controller.quorum.voters": voters} if is_static else named)

    def _voters(self) -> VoterSet:
        return VoterSet(
            tuple(
                Voter(ReplicaKey(key, bytes([key]) * 16), (VoterEndpoint("CONTROLLER", name, PORT),))
                for key, name in self.names.items()
            )
        )

    def _format(self, voters: VoterSet | None) -> None:
        for node_id, server in self.servers.items():
            named = voters if node_id in self.names else None
            plan = plan_format(given_cluster_id=None, random_uuid=b"cluster".ljust(16), voters=named, now_ms=0)
            directory = LogDirectory(server.disks[ROOT])
            write_plan(directory, plan)
            directory.write_meta_properties(MetaProperties(plan.cluster_id, node_id, bytes([node_id]) * 16))
            directory.take_offline()

    # -- what is watched ----------------------------------------------------------------------------------------------

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Looks at every change of a role and every image, in the moment in which the controller hears of it."""
        role_changed, published = ControllerRole.role_changed, ControllerRole.published

        def note_role(role: ControllerRole) -> None:
            role_changed(role)
            epoch = role._log.leader_epoch
            if epoch is not None:
                leader = self.leaders.setdefault(epoch, role._log.local.id)
                self._demand(leader == role._log.local.id, f"{leader} and {role._log.local.id} lead epoch {epoch}")

        def note_image(role: ControllerRole, image: ClusterImage) -> None:
            published(role, image)
            known = self.images.setdefault(image.end_offset, image)
            self._demand(known == image, f"two images end at offset {image.end_offset}")

        monkeypatch.setattr(ControllerRole, "role_changed", note_role)
        monkeypatch.setattr(ControllerRole, "published", note_image)

    def _demand(self, condition: bool, what: str) -> None:
        if not condition:
            self.anomalies.append(f"at {self.loop.time():.3f} s: {what}")

    def check_logs(self) -> None:
        """Compares what the nodes that are up have committed."""
        for server in self.servers.values():
            if not server.is_up or server.node is None or (log := server.node._log) is None:
                continue
            start, end = log._log.start_offset, log.committed_offset
            data = bytes(log._log.read(start, end, 1 << 30)) if end > start else b""
            position = 0
            while position < len(data):
                base_offset = int.from_bytes(data[position : position + 8])
                size = 12 + int.from_bytes(data[position + 8 : position + 12])
                batch = data[position : position + size]
                known = self.batches.setdefault(base_offset, batch)
                self._demand(known == batch, f"two committed batches at offset {base_offset}, one on {server.name}")
                position += size

    # -- what happens -------------------------------------------------------------------------------------------------

    def run(self, duration_s: float) -> None:
        try:
            self.loop.run_until_complete(self._run(duration_s))
        finally:
            self.loop.close()
        bugs = [error for server in self.servers.values() for error in server.bugs]
        if self.anomalies or bugs:
            raise Anomaly(f"{self.anomalies} {bugs!r} after {dict(self.faults)}")

    def time_to_replace_killed_leader_s(self) -> float:
        """How long a quorum without other faults has no active controller after the kill of the one that it had."""

        async def measure() -> float:
            for server in self.servers.values():
                server.start()
            former = await self._active(self.servers)
            killed_s = self.loop.time()
            self.servers[former].kill()
            await self._active({key: server for key, server in self.servers.items() if key != former})
            return self.loop.time() - killed_s

        try:
            return self.loop.run_until_complete(measure())
        finally:
            self.loop.close()

    async def _active(self, servers: Mapping[int, SimulatedServer]) -> int:
        while True:
            for node_id, server in servers.items():
                controller = None if server.node is None else server.node._controller
                if controller is not None and controller.is_active:
                    return node_id
            await asyncio.sleep(0.01)

    async def _run(self, duration_s: float) -> None:
        for server in self.servers.values():
            server.start()
        while self.loop.time() < duration_s:
            await asyncio.sleep(self.chance.uniform(0.05, 1.5))
            self._ask()
            self._harm()
            self.check_logs()
        await self._heal()

    def _ask(self) -> None:
        """Has whoever takes itself for the active controller decide something."""
        for node_id, server in self.servers.items():
            node = server.node
            if node is not None and node._controller is not None and node._controller.is_active:
                assert server.host is not None
                self._asked += 1
                work = self._create_topic(node._controller, f"topic-{self._asked}-of-{node_id}")
                self._asking.append(self.loop.start_on(server.host, work))

    async def _create_topic(self, controller: ControllerRole, name: str) -> None:
        record = TopicRecord(name=name, topic_id=name.encode().ljust(16)[-16:])
        try:
            await controller.submit(lambda image: Decision([record], None))
        except ApiError:
            return
        self.acknowledged.add(name)

    def _harm(self) -> None:
        server = self.chance.choice(list(self.servers.values()))
        if not server.is_up:
            if server.life is Life.DOWN:
                server.start()
            return
        fault = self.chance.choices(
            [
                "nothing",
                "kill",
                "power cut",
                "stop",
                "pause",
                "resume",
                "cut",
                "clear",
                "reset",
                "slow",
                "late power cut",
                "lost metadata",
            ],
            [50, 4, 4, 3, 5, 20, 8, 20, 6, 8, 8, 4],
        )[0]
        if self._carry_out(fault, server):
            self.faults[fault] += 1

    def _carry_out(self, fault: str, server: SimulatedServer) -> bool:
        """Whether there was something to harm or to mend."""
        if fault == "kill":
            server.kill()
        elif fault == "power cut":
            server.cut_power(self.chance.choice(list(Survival)))
        elif fault == "stop":
            self._waiting.append(asyncio.ensure_future(server.shut_down()))
        elif fault == "pause":
            server.pause()
        elif fault == "resume":
            server.resume()
        elif fault == "slow":
            server.slow_down(self.chance.choice([THREAD_S, 0.02, 0.2]))
        elif fault == "late power cut":
            self._waiting.append(asyncio.ensure_future(self._cut_power_after_vote(server)))
        elif fault == "lost metadata":
            return self._lose_metadata(server)
        elif fault == "cut":
            self.network.clog(*self.chance.sample(self._machines(), 2))
        elif fault == "clear":
            self._clear_all()
        elif fault == "reset":
            connections = self.network.connections()
            if not connections:
                return False
            self.network.reset(self.chance.choice(connections)[0])
        return fault != "nothing"

    def _lose_metadata(self, server: SimulatedServer) -> bool:
        """Takes everything from a node that it knew of the quorum, but its identity. One at a time: what the majority
        has lost is lost. Settings that name the voters hide the loss from the node."""
        controllers = [self.servers[node_id] for node_id in self.names]
        known = [one.disks[ROOT].files() for one in controllers]
        are_whole = all(METADATA / "quorum-state" in files and METADATA / "catching-up" not in files for files in known)
        if self._is_static or not are_whole or server not in controllers:
            return False
        server.kill()
        server.disks[ROOT].remove_tree(ROOT / METADATA)
        server.start()
        return True

    async def _cut_power_after_vote(self, server: SimulatedServer) -> None:
        """Ends a machine soon after somebody has asked it for its vote, and starts it again at once."""
        await self.network.next_arrival(server.name, ApiKey.VOTE)
        await asyncio.sleep(self.chance.choice([0.001, 0.01, 0.1]))
        if server.is_up and not self._is_over:
            server.cut_power(self.chance.choice(list(Survival)))
            server.start()

    def _machines(self) -> list[str]:
        return [server.name for server in self.servers.values()]

    def _clear_all(self) -> None:
        for one in self._machines():
            for other in self._machines():
                if one < other:
                    self.network.clear(one, other)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def _heal(self) -> None:
        self._is_over = True
        self._clear_all()
        for server in self.servers.values():
            server.slow_down(THREAD_S)
        deadline_s = self.loop.time() + HEALING_S
        while not (self._is_whole() or self.loop.time() > deadline_s):
            for server in self.servers.values():
                server.resume()
                if server.life is Life.DOWN:
                    server.start()
            self._ask()
            await asyncio.sleep(0.1)
        self.check_logs()
        self._demand(self._is_whole(), f"the quorum is not whole {HEALING_S:g} s after everything was healed")
        for node_id, image in self._images().items():
            missing = self.acknowledged - {topic.name for topic in image.topics}
            self._demand(not missing, f"node {node_id} does not know {sorted(missing)}, which were acknowledged")

    def _images(self) -> dict[int, ClusterImage]:
        return {
            node_id: server.node._log.image
            for node_id, server in self.servers.items()
            if server.node is not None and server.node._log is not None
        }

    def _is_whole(self) -> bool:
        """Every node is up, one decides, and all know the same."""
        nodes: list[Any] = [server.node for server in self.servers.values()]
        if any(node is None or node._log is None for node in nodes):
            return False
        active = [node._log.local.id for node in nodes if node._controller is not None and node._controller.is_active]
        known = {frozenset(topic.name for topic in image.topics) for image in self._images().values()}
        return {node._log.leader_id for node in nodes} == set(active) and len(active) == 1 and len(known) == 1
