"""Watches the nodes of a simulated cluster, and notices when they break what a cluster promises.

In the moment in which it happens:

- a controller begins to lead: no other one led in that raft epoch;
- an image is published: it equals every image that ends at the same offset; the in-sync set of each partition is within
  what its leader takes for possible (the maximal set, KIP-497), and only active brokers have come into it; a new leader
  was in sync or eligible, or led last;
- a replica is in sync or eligible to lead (KIP-966): it has every committed record, and no truncation takes one away;
- a broker begins to lead a partition: no other one led in that leader epoch, and it has every record that was committed
  before (leader completeness);
- a leader commits: no later leader has begun without those records.

From time to time, because it takes longer: batches below the watermark are the same on all replicas (LogMatching). At
the end: replicas end alike. What a log knows of its producers is what a replay gives, at the end and after each cut.

While a node starts, it may take itself for the leader that it was before it died. Nobody can reach it then, so it is
judged once it is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ottla.broker.controller.role import ControllerRole
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState
from ottla.protocol.record_batch import iterate_headers
from ottla.replication.following import Following
from ottla.replication.partition import Partition
from ottla.storage.producer_replay import replay
from ottla.storage.producer_state import ProducerStates
from ottla.testing.sim.server import SimulatedServer

_READ_BYTES = 1 << 20
_UNKNOWN_EPOCH = -1

PartitionKey = tuple[bytes, int]


class ClusterWatch:
    """Remembers who led and what was committed."""

    def __init__(self, servers: Sequence[SimulatedServer], *, is_quiet: bool = False) -> None:
        """In a quiet run no node that is up is ever out of reach: none may be fenced, nor leave an in-sync set."""
        self.anomalies: list[str] = []
        self._is_quiet = is_quiet
        self._servers = {server.config.node_id: server for server in servers}
        self._controllers: dict[int, int] = {}
        self._images: dict[int, ClusterImage] = {}
        self._newest = ClusterImage()
        self._leaders: dict[tuple[bytes, int, int], int] = {}
        # The newest leader that was judged: its epoch, and where its log ended when it began.
        self._began: dict[PartitionKey, tuple[int, int]] = {}
        # How far a partition was ever committed, and the leader epoch of the last record of that.
        self._committed: dict[PartitionKey, tuple[int, int]] = {}
        self._batches: dict[tuple[bytes, int, int], tuple[int, int]] = {}
        self._seen: dict[tuple[str, int, bytes, int], int] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hears of everything that happens on the nodes, as long as the context lasts."""
        with ExitStack() as stack:
            for owner, name, note in (
                (ControllerRole, "role_changed", self._note_role),
                (ControllerRole, "published", self._note_image),
                (Partition, "apply", self._note_leadership),
                (Partition, "follower_fetched", self._note_committed),
                (Partition, "in_sync_answered", self._note_committed),
                (Following, "was_cut", self._note_cut),
            ):
                stack.enter_context(_after(owner, name, note))
            yield

    # -- in the moment ------------------------------------------------------------------------------------------------

    def _note_role(self, role: ControllerRole) -> None:
        epoch, node_id = role._log.leader_epoch, role._log.local.id
        if epoch is not None:
            leader_id = self._controllers.setdefault(epoch, node_id)
            self._demand(leader_id == node_id, f"{leader_id} and {node_id} are controllers in epoch {epoch}")

    def _note_image(self, role: ControllerRole) -> None:
        image = role._log.image
        known = self._images.setdefault(image.end_offset, image)
        self._demand(known is image or known == image, f"two images end at offset {image.end_offset}")
        if image.end_offset > self._newest.end_offset:
            before, self._newest = self._newest, image
            if self._is_quiet:
                self._compare_brokers(before, image)
            if image.topics is not before.topics:
                self._compare_in_sync_sets(before, image)

    def _compare_brokers(self, before: ClusterImage, image: ClusterImage) -> None:
        for broker in image.brokers:
            former = before.brokers.get(broker.id)
            is_newly_fenced = former is not None and former.epoch == broker.epoch and not former.is_fenced
            if broker.is_fenced and is_newly_fenced and self._servers[broker.id].is_up:
                self._tell(f"broker {broker.id} is fenced although nothing happened to it")

    def _compare_in_sync_sets(self, before: ClusterImage, image: ClusterImage) -> None:
        for topic in image.topics:
            former = before.topics.by_id(topic.id)
            for index, state in topic.partitions.items():
                old = None if former is None else former.partition(index)
                if old is state:
                    continue
                entered = [one for one in state.isr if old is not None and one not in old.isr]
                self._demand(
                    all(map(image.brokers.is_active, entered)),
                    f"of {entered} in the in-sync set of {topic.name}-{index} not every broker is active",
                )
                left = [one for one in (old.isr if old is not None else ()) if one not in state.isr]
                self._demand(
                    not (self._is_quiet and any(self._servers[one].is_up for one in left)),
                    f"{left} left the in-sync set of {topic.name}-{index} although nothing happened to them",
                )
                if old is not None:
                    self._check_election(f"{topic.name}-{index}", old, state)
                self._check_members(topic.id, index)
                leader = self._leader_of(topic.id, index, state.leader, state.leader_epoch)
                self._demand(
                    leader is None or set(state.isr) <= set(leader),
                    f"{topic.name}-{index} has the in-sync set {state.isr}, and its leader waits for {leader} only",
                )

    def _check_election(self, name: str, old: PartitionState, new: PartitionState) -> None:
        """No topic lets a replica lead that may lack records. Several changes in one image are not judged."""
        if new.leader in (NO_LEADER, old.leader) or new.partition_epoch != old.partition_epoch + 1:
            return
        may_lead = {*old.isr, *old.eligible_leader_replicas, *old.last_known_elr}
        self._demand(new.leader in may_lead, f"{new.leader} leads {name}, and only {sorted(may_lead)} may")

    def _leader_of(self, topic_id: bytes, index: int, leader_id: int, leader_epoch: int) -> tuple[int, ...] | None:
        """The maximal in-sync set of a leader, if it leads in that epoch now."""
        server = self._servers.get(leader_id)
        node = server.node if server is not None and server.is_up else None
        partition = None if node is None else node.replicas.find_by_id(topic_id, index)
        if partition is None or not partition.is_leader or partition.leader_epoch != leader_epoch:
            return None
        return partition._leader.maximal_in_sync if partition._leader is not None else None

    def _check_members(self, topic_id: bytes, index: int) -> None:
        """Whoever may lead next has what is committed."""
        topic = self._newest.topics.by_id(topic_id)
        state = None if topic is None else topic.partition(index)
        if state is None:
            return
        offset, _ = self._committed.get((topic_id, index), (0, 0))
        for node_id in (*state.isr, *state.eligible_leader_replicas):
            server = self._servers[node_id]
            node = server.node if server.is_up else None
            partition = None if node is None else node.replicas.find_by_id(topic_id, index)
            if partition is not None and partition.log.log_end_offset < offset:
                role = "in sync" if node_id in state.isr else "eligible"
                self._tell(
                    f"{node_id} is {role} and ends at {partition.log.log_end_offset}: {partition} is committed up to "
                    f"{offset}"
                )

    def _note_cut(self, following: Following) -> None:
        for server in self._servers.values():
            for partition in server.node.replicas.all() if server.is_up and server.node is not None else ():
                if partition.following is following:
                    self._check_members(partition.topic_id, partition.index)
                    self.anomalies += _unequal_producers(server.name, partition)

    def _note_leadership(self, partition: Partition) -> None:
        key = partition.topic_id, partition.index
        if not partition.is_leader or partition.leader_epoch <= self._began.get(key, (_UNKNOWN_EPOCH, 0))[0]:
            return
        node_id = partition._broker.broker_id
        if not self._servers[node_id].is_up:
            return
        leader_id = self._leaders.setdefault((*key, partition.leader_epoch), node_id)
        self._demand(leader_id == node_id, f"{leader_id} and {node_id} lead {partition}")
        log = partition.log
        self._began[key] = partition.leader_epoch, log.log_end_offset
        offset, epoch = self._committed.get(key, (0, _UNKNOWN_EPOCH))
        if offset > log.log_end_offset:
            self._tell(f"{node_id} leads {partition} and ends at {log.log_end_offset}: {offset} was committed")
        elif offset > log.log_start_offset and (own := log.leader_epochs.epoch_of(offset - 1)) != epoch:
            self._tell(
                f"{node_id} leads {partition} and has epoch {own} at {offset - 1}: a record of {epoch} was committed"
            )

    def _note_committed(self, partition: Partition) -> None:
        key = partition.topic_id, partition.index
        log = partition.log
        high_watermark = log.high_watermark
        if high_watermark <= self._committed.get(key, (0, 0))[0] or not partition.is_leader:
            return
        self._committed[key] = high_watermark, log.leader_epochs.epoch_of(high_watermark - 1)
        newest_epoch, began_at = self._began.get(key, (_UNKNOWN_EPOCH, 0))
        self._demand(
            partition.leader_epoch >= newest_epoch or high_watermark <= began_at,
            f"{partition._broker.broker_id} commits {partition} up to {high_watermark}: "
            f"the leader of epoch {newest_epoch} began at {began_at}",
        )
        self._check_members(*key)

    # -- from time to time --------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Compares all replicas on nodes that are up with what was seen before."""
        for server in self._servers.values():
            node = server.node
            if not server.is_up or node is None:
                continue
            for partition in node.replicas.all():
                self._note_leadership(partition)
                if partition.is_leader:
                    self._note_committed(partition)
                if not _is_compacted(partition):
                    self._note_batches(server, partition)

    def _note_batches(self, server: SimulatedServer, partition: Partition) -> None:
        seen = server.name, server.start_count, partition.topic_id, partition.index
        from_offset = max(self._seen.get(seen, 0), partition.log.log_start_offset)
        for base_offset, digest, end_offset in _committed_batches(partition, from_offset):
            known = self._batches.setdefault((partition.topic_id, partition.index, base_offset), digest)
            self._demand(
                known == digest, f"two committed batches of {partition} at {base_offset}, one on {server.name}"
            )
            from_offset = end_offset
        self._seen[seen] = from_offset

    # -- at the end ---------------------------------------------------------------------------------------------------

    def unequal_logs(self) -> Iterator[str]:
        """Partitions whose replicas do not end at the same offset."""
        ends: dict[tuple[str, int], dict[str, tuple[int, int]]] = {}
        for server in self._servers.values():
            for partition in server.node.replicas.all() if server.node is not None else ():
                end = partition.log.log_end_offset, partition.log.high_watermark
                ends.setdefault((partition.topic, partition.index), {})[server.name] = end
        for (topic, index), found in ends.items():
            if len(set(found.values())) > 1:
                yield f"replicas of {topic}-{index} end differently (log end, watermark): {found}"

    def unequal_producers(self) -> Iterator[str]:
        """Logs that know of their producers what a replay does not give."""
        for server in self._servers.values():
            for partition in server.node.replicas.all() if server.node is not None else ():
                yield from _unequal_producers(server.name, partition)

    def _demand(self, condition: bool, what: str) -> None:
        if not condition:
            self._tell(what)

    def _tell(self, what: str) -> None:
        self.anomalies.append(what)


@contextmanager
def _after(owner: type, name: str, note: Callable[[Any], None]) -> Iterator[None]:
    """Calls `note` with the object after each call of one of its methods."""
    original: Callable[..., Any] = getattr(owner, name)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        result = original(self, *arguments, **options)
        note(self)
        return result

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _committed_batches(partition: Partition, from_offset: int) -> Iterator[tuple[int, tuple[int, int], int]]:
    """Base offset, checksum with leader epoch, and end of each committed batch."""
    log = partition.log
    while from_offset < log.high_watermark:
        read = log.read(
            from_offset,
            _READ_BYTES,
            max_offset_exclusive=log.high_watermark,
            min_one_batch=True,
            allow_blocking=True,
        )
        headers = [header for _, header in iterate_headers(read.records)]
        if not headers:
            return
        for header in headers:
            yield header.base_offset, (header.crc, header.leader_epoch), header.last_offset + 1
        from_offset = headers[-1].last_offset + 1


def _unequal_producers(server: str, partition: Partition) -> Iterator[str]:
    log = partition.log
    if _is_compacted(partition) or log.log_start_offset > 0:
        # Producers outlive their records.
        return
    replayed = ProducerStates(str(partition))
    replay(replayed, log.segments, log.log_start_offset, log.log_end_offset)
    known = {one.producer_id: one.to_entry() for one in log.producers.all()}
    expected = {one.producer_id: one.to_entry() for one in replayed.all()}
    for producer_id in {**known, **expected}:
        if known.get(producer_id) != expected.get(producer_id):
            yield (
                f"{partition} on {server} knows of producer {producer_id} {known.get(producer_id)}, "
                f"and its log has {expected.get(producer_id)}"
            )


def _is_compacted(partition: Partition) -> bool:
    """Each replica is compacted for itself, so their batches need not be the same."""
    return "compact" in partition.log.config.cleanup_policy
