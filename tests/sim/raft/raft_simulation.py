"""A whole metadata quorum in one process: simulated network, disks and clock, all driven by one seed.

A node's disk changes only when a Ready is persisted, some time after the step that asked for it; a crash loses
whatever is still waiting. Messages are delayed, lost, repeated and reordered. After every event the oracles of the
Raft paper are checked; a violation raises with the seed's history at hand.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from ottla.raft import (
    Batch,
    Event,
    LogStartMoved,
    LogView,
    Membership,
    OffsetAndEpoch,
    Persisted,
    Propose,
    QuorumSettings,
    RaftNode,
    Ready,
    ReplicaKey,
    Reply,
    Request,
    RequestFailed,
    RequestReceived,
    Resign,
    ResponseReceived,
    ServeFetch,
    ServeSnapshot,
    SnapshotCreated,
    SnapshotInstalled,
    Start,
    Tick,
    Voter,
    VoterHistory,
    VoterSet,
)
from ottla.raft.epochs import EpochHistory
from ottla.raft.messages import FetchResponse, FetchSnapshotResponse, QuorumError
from ottla.raft.ready import ElectionState
from ottla.raft.roles import Leader, Resigned

SNAPSHOT_BYTES = 25
SNAPSHOT_CHUNK_BYTES = 10
MAX_BATCHES_PER_FETCH = 3


@dataclass
class Disk:
    """What survives a crash."""

    election: ElectionState = field(default_factory=ElectionState)
    start_offset: int = 0
    batches: list[Batch] = field(default_factory=list)
    snapshot: OffsetAndEpoch | None = None

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start_offset

    def view(self) -> LogView:
        epochs = EpochHistory()
        for batch in self.batches:
            epochs.assign(batch.epoch, batch.base_offset)
        return LogView(self.start_offset, self.end_offset, epochs, self.snapshot)

    def history(self, voters: VoterSet) -> VoterHistory:
        """Formatting and every snapshot name these voters."""
        history = VoterHistory(voters, 1)
        for batch in self.batches:
            history.append(batch.base_offset, batch.control_records)
        return history

    def persist(self, ready: Ready) -> None:
        if ready.election is not None:
            self.election = ready.election
        if ready.install_snapshot is not None:
            self.start_offset = ready.install_snapshot.offset
            self.batches = []
            self.snapshot = ready.install_snapshot
        if ready.truncate_to is not None:
            assert all(b.end_offset <= ready.truncate_to or b.base_offset >= ready.truncate_to for b in self.batches)
            self.batches = [batch for batch in self.batches if batch.end_offset <= ready.truncate_to]
        for batch in ready.append:
            assert batch.base_offset == self.end_offset
            self.batches.append(batch)


class SimulatedNode:
    def __init__(self, key: ReplicaKey) -> None:
        self.key = key
        self.disk = Disk()
        self.raft: RaftNode | None = None
        self.life = 0
        self.waiting: list[tuple[Ready, int, int]] = []
        self.is_disk_busy = False
        self.committed_offset = -1

    @property
    def is_stopping(self) -> bool:
        """Whether its process is about to end: it has resigned, and does not stand for election any more."""
        role = None if self.raft is None else self.raft.role
        return isinstance(role, Resigned) and role.is_stopping


@dataclass(frozen=True)
class Faults:
    loss: float = 0.0
    repeat: float = 0.0
    max_delay_ms: int = 5
    max_disk_ms: int = 5
    crash: float = 0.0
    partition: float = 0.0
    resign: float = 0.0
    snapshot: float = 0.1
    # Of requests whose sender hears that nobody listens, although somebody does.
    false_refusal: float = 0.0


NO_FAULTS = Faults()


class Simulation:
    def __init__(self, seed: int, *, voters: int, observers: int = 0, faults: Faults = NO_FAULTS) -> None:
        self.random = random.Random(seed)
        self.faults = faults
        self.now_ms = 0
        self.settings = QuorumSettings(
            election_timeout_ms=100,
            election_backoff_max_ms=100,
            fetch_timeout_ms=200,
            request_timeout_ms=100,
            retry_backoff_ms=10,
            fetch_max_wait_ms=50,
        )
        keys = [ReplicaKey(i, bytes([i + 1]) * 16) for i in range(voters + observers)]
        self.voters = VoterSet(tuple(Voter(key) for key in keys[:voters]))
        self.nodes = [SimulatedNode(key) for key in keys]
        self.blocked: set[tuple[int, int]] = set()
        self.proposed = 0
        self.event_count = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        # Oracles.
        self.leader_of_epoch: dict[int, int] = {}
        self.committed: dict[int, Batch] = {}
        self.committed_end = 0
        for node in self.nodes:
            self.restart(node)

    # --- running ----------------------------------------------------------------------------------------------------

    def run_for(self, duration_ms: int) -> None:
        self.run_until(lambda: False, duration_ms)

    def run_until(self, is_done: Callable[[], bool], limit_ms: int) -> bool:
        end_ms = self.now_ms + limit_ms
        while self._queue and self._queue[0][0] <= end_ms:
            self.now_ms, _, action = heapq.heappop(self._queue)
            action()
            if is_done():
                return True
        self.now_ms = end_ms
        return is_done()

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._queue, (self.now_ms + delay_ms, self._order, action))

    def restart(self, node: SimulatedNode) -> None:
        node.life += 1
        node.waiting, node.is_disk_busy = [], False
        node.raft = RaftNode(
            local=node.key,
            history=node.disk.history(self.voters),
            log=node.disk.view(),
            election=node.disk.election,
            jitter=self.random.randrange,
            settings=self.settings,
        )
        node.committed_offset = -1
        self.step(node, Start())

    def crash(self, node: SimulatedNode) -> None:
        node.raft = None
        node.life += 1
        node.waiting, node.is_disk_busy = [], False

    def step(self, node: SimulatedNode, event: Event) -> None:
        raft = node.raft
        assert raft is not None
        self.event_count += 1
        epoch_before, watermark_before = raft.epoch, raft.high_watermark
        ready = raft.step(event, self.now_ms)
        assert raft.epoch >= epoch_before, "an epoch fell"
        assert raft.high_watermark >= watermark_before, "a high watermark fell"
        self._check_leader(node, raft)
        node.waiting.append((ready, raft.log.end_offset, raft.epoch))
        if not node.is_disk_busy:
            self._work_on_disk(node)
        self._schedule_tick(node)

    def _schedule_tick(self, node: SimulatedNode) -> None:
        raft, life = node.raft, node.life
        assert raft is not None
        deadline = raft.next_deadline_ms(self.now_ms)
        if deadline is None:
            return

        def tick() -> None:
            if node.life == life and node.raft is not None and self.now_ms >= deadline:
                current = node.raft.next_deadline_ms(self.now_ms)
                if current is not None and current <= self.now_ms:
                    self.step(node, Tick())

        # At least a millisecond, so that time always moves on.
        self.after(max(deadline - self.now_ms, 1), tick)

    # --- disk -------------------------------------------------------------------------------------------------------

    def _work_on_disk(self, node: SimulatedNode) -> None:
        node.is_disk_busy = True
        life = node.life

        def finish() -> None:
            if node.life != life or node.raft is None:
                return
            work, node.waiting = node.waiting, []
            node.is_disk_busy = False
            for ready, _, _ in work:
                node.disk.persist(ready)
                if ready.install_snapshot is not None:
                    self.step(node, SnapshotInstalled(ready.install_snapshot, Membership(self.voters, 1)))
            for ready, _, _ in work:
                for message in ready.messages:
                    self._send(node, message)
                if ready.high_watermark is not None:
                    self._check_committed(node, ready.high_watermark)
            _, end_offset, epoch = work[-1]
            if any(ready.append for ready, _, _ in work):
                self.step(node, Persisted(end_offset, epoch))
            elif node.waiting and not node.is_disk_busy:
                self._work_on_disk(node)

        must_persist = any(ready.must_persist for ready, _, _ in node.waiting)
        self.after(self.random.randint(0, self.faults.max_disk_ms) if must_persist else 0, finish)

    def take_snapshot(self, node: SimulatedNode) -> None:
        """Snapshot what is committed, remove the log before it; the disk is idle, so both are durable at once."""
        raft = node.raft
        if raft is None or node.is_disk_busy or node.waiting or node.committed_offset <= node.disk.start_offset:
            return
        covered = [batch for batch in node.disk.batches if batch.end_offset <= node.committed_offset]
        if not covered:
            return
        node.disk.snapshot = OffsetAndEpoch(covered[-1].end_offset, covered[-1].epoch)
        self.step(node, SnapshotCreated(node.disk.snapshot))
        if self.random.random() < 0.5:
            node.disk.batches = node.disk.batches[len(covered) :]
            node.disk.start_offset = node.disk.snapshot.offset
            self.step(node, LogStartMoved(node.disk.start_offset))

    # --- network ------------------------------------------------------------------------------------------------------

    def _send(self, node: SimulatedNode, message: Request | Reply | ServeFetch | ServeSnapshot) -> None:
        sender_id = node.key.id
        if isinstance(message, Request):
            receiver, correlation_id = self.nodes[message.to_id], message.correlation_id
            reply_to = (sender_id, correlation_id)
            self._transmit(sender_id, receiver, RequestReceived(message.message, reply_to))
            return
        reply_to = message.reply_to
        assert isinstance(reply_to, tuple)
        if isinstance(message, ServeFetch):
            batches = [
                batch
                for batch in node.disk.batches
                if message.from_offset <= batch.base_offset and batch.end_offset <= message.end_offset
            ]
            response = FetchResponse(
                QuorumError.NONE,
                message.epoch,
                message.leader_id,
                message.high_watermark,
                batches=tuple(batches[:MAX_BATCHES_PER_FETCH]),
            )
        elif isinstance(message, ServeSnapshot):
            is_there = node.disk.snapshot == message.snapshot
            size = min(SNAPSHOT_CHUNK_BYTES, SNAPSHOT_BYTES - message.position)
            response = FetchSnapshotResponse(
                QuorumError.NONE if is_there else QuorumError.SNAPSHOT_NOT_FOUND,
                message.epoch,
                message.leader_id,
                message.snapshot,
                SNAPSHOT_BYTES,
                message.position,
                b"x" * size,
            )
        else:
            response = message.message
        requester_id, correlation_id = reply_to
        self._transmit(sender_id, self.nodes[requester_id], ResponseReceived(sender_id, correlation_id, response))

    def _transmit(self, sender_id: int, receiver: SimulatedNode, event: Event) -> None:
        copies = 1 + (self.random.random() < self.faults.repeat)
        for _ in range(copies):
            if self.random.random() < self.faults.loss:
                continue

            def deliver() -> None:
                is_refused = receiver.raft is None or self.random.random() < self.faults.false_refusal
                if is_refused and isinstance(event, RequestReceived):
                    self._refuse(self.nodes[sender_id], receiver.key.id, event)
                elif receiver.raft is not None and (sender_id, receiver.key.id) not in self.blocked:
                    self.step(receiver, event)

            self.after(self.random.randint(0, self.faults.max_delay_ms), deliver)

    def _refuse(self, sender: SimulatedNode, receiver_id: int, event: RequestReceived) -> None:
        """Tells the sender that nobody listens, which need not be true."""
        assert isinstance(event.reply_to, tuple)
        if sender.raft is not None:
            self.step(sender, RequestFailed(receiver_id, event.reply_to[1], is_refused=True))

    # --- clients ------------------------------------------------------------------------------------------------------

    def propose(self) -> None:
        """A client writes through whoever believes to be the leader."""
        for node in self.nodes:
            if node.raft is not None and isinstance(node.raft.role, Leader):
                self.proposed += 1
                values = tuple(b"%d" % self.proposed for _ in range(self.random.randint(1, 3)))
                self.step(node, Propose(values, self.proposed))

    def resign_leader(self) -> None:
        for node in self.nodes:
            if node.raft is not None and isinstance(node.raft.role, Leader):
                self.step(node, Resign())

    # --- oracles ------------------------------------------------------------------------------------------------------

    def _check_leader(self, node: SimulatedNode, raft: RaftNode) -> None:
        if not isinstance(raft.role, Leader):
            return
        elected = self.leader_of_epoch.setdefault(raft.epoch, node.key.id)
        assert elected == node.key.id, f"two leaders in epoch {raft.epoch}: {elected} and {node.key.id}"
        # One that does not know of its successor yet may lack what that one has committed.
        if raft.epoch == max(self.leader_of_epoch):
            assert raft.log.end_offset >= self.committed_end, "a leader lacks committed records"

    def _check_committed(self, node: SimulatedNode, high_watermark: int) -> None:
        """Runs when a node acts on a high watermark: what it now calls committed must be so for everyone."""
        assert high_watermark <= node.disk.end_offset, "committed beyond the durable log"
        ends = sorted((n.disk.end_offset for n in self.nodes if self.voters.contains(n.key)), reverse=True)
        assert high_watermark <= ends[self.voters.majority - 1], "committed without a majority"
        for batch in node.disk.batches:
            if batch.end_offset <= high_watermark:
                known = self.committed.setdefault(batch.base_offset, batch)
                assert known == batch, f"two committed batches at offset {batch.base_offset}: {known} and {batch}"
        self.committed_end = max(self.committed_end, high_watermark)
        node.committed_offset = max(node.committed_offset, high_watermark)

    def check_committed_prefixes(self) -> None:
        """Every node's log up to the committed end is the committed log."""
        for node in self.nodes:
            for batch in node.disk.batches:
                if batch.end_offset <= min(node.committed_offset, self.committed_end):
                    assert self.committed[batch.base_offset] == batch

    @property
    def everyone_caught_up(self) -> bool:
        return all(
            node.raft is not None and node.committed_offset == self.committed_end == node.disk.end_offset
            for node in self.nodes
        )


def run_chaos(simulation: Simulation, rounds: int) -> None:
    """Faults for a number of rounds, then heal and demand that the quorum commits and everyone catches up."""
    dice, faults = simulation.random, simulation.faults
    for _ in range(rounds):
        simulation.run_for(dice.randint(5, 60))
        simulation.propose()
        for node in simulation.nodes:
            if node.raft is None:
                if dice.random() < 0.3:
                    simulation.restart(node)
            elif dice.random() < (0.5 if node.is_stopping else faults.crash):
                simulation.crash(node)
            elif dice.random() < faults.snapshot:
                simulation.take_snapshot(node)
        if dice.random() < faults.resign:
            simulation.resign_leader()
        if dice.random() < faults.partition:
            simulation.blocked = _random_cut(simulation)
    simulation.blocked = set()
    simulation.faults = NO_FAULTS
    for node in simulation.nodes:
        if node.is_stopping:
            simulation.crash(node)
        if node.raft is None:
            simulation.restart(node)
    before = simulation.committed_end
    simulation.run_until(lambda: _has_stable_leader(simulation), 3_000)
    simulation.propose()
    recovered = simulation.run_until(lambda: simulation.committed_end > before and simulation.everyone_caught_up, 3_000)
    assert recovered, "the healed quorum did not commit and catch up"
    simulation.check_committed_prefixes()


def _has_stable_leader(simulation: Simulation) -> bool:
    leaders = {node.raft.leader_id for node in simulation.nodes if node.raft is not None}
    epochs = {node.raft.epoch for node in simulation.nodes if node.raft is not None}
    return len(leaders) == len(epochs) == 1 and None not in leaders


def _random_cut(simulation: Simulation) -> set[tuple[int, int]]:
    """Nothing, two islands, or single directions that are dead."""
    dice = simulation.random
    ids = [node.key.id for node in simulation.nodes]
    kind = dice.randrange(3)
    if kind == 0:
        return set()
    if kind == 1:
        island = {i for i in ids if dice.random() < 0.5}
        return {(a, b) for a in ids for b in ids if (a in island) != (b in island)}
    return {(a, b) for a in ids for b in ids if a != b and dice.random() < 0.3}
