"""Watches the nodes of a simulated cluster, and notices when they break what a cluster promises.

In the moment in which it happens:

- a controller begins to lead: no other one led in that raft epoch, and it has all metadata that was committed before;
- an image is published: it equals every image that ends at the same offset; the in-sync set of each partition is within
  what its leader takes for possible (the maximal set, KIP-497), only active brokers have come into it, and all of them
  have reached the start of the leader's epoch; a new leader was in sync or eligible, or led last, and there is always
  somebody who is one of these; a broker that died is neither in sync nor eligible any more when it registers again
  (KIP-966);
- a replica is in sync or eligible to lead (KIP-966): it has every committed record, and no truncation takes one away;
- a follower cuts its log: no epoch without records is left behind its end;
- a broker begins to lead a partition: no other one led in that leader epoch, and it has every record that was committed
  before (leader completeness);
- a leader commits: no later leader has begun without those records, enough replicas are in sync, and whoever may be so
  has fetched them;
- a follower appends: its log ends with the record that its leader has there, or has deleted since.

What nodes answer is watched in `answer_watch`.

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
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState, TopicImage
from ottla.protocol.record_batch import iterate_headers
from ottla.protocol.records import CorruptRecords
from ottla.replication.following import Following
from ottla.replication.partition import Partition
from ottla.storage.log import Log
from ottla.storage.producer_replay import replay
from ottla.storage.producer_state import ProducerStates
from ottla.testing.sim.answer_watch import AnswerWatch
from ottla.testing.sim.hooks import after
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
        self._answers = AnswerWatch(servers, self, self._tell)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hears of everything that happens on the nodes, as long as the context lasts."""
        with ExitStack() as stack:
            for owner, name, note in (
                (ControllerRole, "role_changed", self._note_role),
                (ControllerRole, "published", self._note_image),
                (Partition, "apply", self._note_leadership),
                (Partition, "_commit", self._note_commit),
                (Following, "was_cut", self._note_cut),
                (Following, "_settle", self._note_followed),
            ):
                stack.enter_context(after(owner, name, _with_itself(note)))
            stack.enter_context(self._answers.watching())
            yield

    # -- what the watch of answers asks -------------------------------------------------------------------------------

    @property
    def newest_image(self) -> ClusterImage:
        return self._newest

    def committed_offset(self, partition: Partition) -> int:
        """How far a partition was ever committed."""
        return self._committed.get((partition.topic_id, partition.index), (0, _UNKNOWN_EPOCH))[0]

    def is_newest_leader(self, partition: Partition) -> bool:
        """Whether nobody has begun to lead after this leader."""
        newest_epoch, _ = self._began.get((partition.topic_id, partition.index), (_UNKNOWN_EPOCH, 0))
        return partition.is_leader and partition.leader_epoch >= newest_epoch

    # -- in the moment ------------------------------------------------------------------------------------------------

    def _note_role(self, role: ControllerRole) -> None:
        epoch, node_id = role._log.leader_epoch, role._log.local.id
        if epoch is not None:
            leader_id = self._controllers.setdefault(epoch, node_id)
            self._demand(leader_id == node_id, f"{leader_id} and {node_id} are controllers in epoch {epoch}")
            self._demand(
                role._log.end_offset >= self._newest.end_offset,
                f"controller {node_id} begins epoch {epoch} at {role._log.end_offset}: the metadata is committed up to "
                f"{self._newest.end_offset}",
            )

    def _note_image(self, role: ControllerRole) -> None:
        image = role._log.image
        known = self._images.setdefault(image.end_offset, image)
        self._demand(known is image or known == image, f"two images end at offset {image.end_offset}")
        if image.end_offset > self._newest.end_offset:
            before, self._newest = self._newest, image
            if image.brokers is not before.brokers:
                self._compare_brokers(before, image)
            if image.topics is not before.topics:
                self._compare_in_sync_sets(before, image)

    def _compare_brokers(self, before: ClusterImage, image: ClusterImage) -> None:
        for broker in image.brokers:
            former = before.brokers.get(broker.id)
            if former is None:
                continue
            if former.epoch != broker.epoch:
                if self._servers[broker.id].has_died:
                    self._check_not_eligible(broker.id, image)
            elif self._is_quiet and broker.is_fenced and not former.is_fenced and self._servers[broker.id].is_up:
                self._tell(f"broker {broker.id} is fenced although nothing happened to it")

    def _check_not_eligible(self, broker_id: int, image: ClusterImage) -> None:
        for topic in image.topics:
            for index, state in topic.partitions.items():
                self._demand(
                    broker_id not in (*state.isr, *state.eligible_leader_replicas),
                    f"{broker_id} has died and registered again, and may lead {topic.name}-{index} at once",
                )

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
                self._check_entered(topic, index, state, entered)
                self._demand(
                    bool(state.isr or state.eligible_leader_replicas or state.last_known_elr),
                    f"nobody will ever lead {topic.name}-{index}: {state}",
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

    def _check_entered(self, topic: TopicImage, index: int, state: PartitionState, entered: list[int]) -> None:
        leader_epoch, start_offset = self._began.get((topic.id, index), (_UNKNOWN_EPOCH, 0))
        for node_id in entered if leader_epoch == state.leader_epoch else ():
            partition = self._replica_of(node_id, topic.id, index)
            if partition is not None and partition.log.log_end_offset < start_offset:
                self._tell(
                    f"{node_id} comes into the in-sync set of {topic.name}-{index} and ends at "
                    f"{partition.log.log_end_offset}: epoch {leader_epoch} began at {start_offset}"
                )

    def _replica_of(self, node_id: int, topic_id: bytes, index: int) -> Partition | None:
        """A partition on a node, if that is up."""
        server = self._servers.get(node_id)
        node = server.node if server is not None and server.is_up else None
        return None if node is None else node.replicas.find_by_id(topic_id, index)

    def _check_election(self, name: str, old: PartitionState, new: PartitionState) -> None:
        """No topic lets a replica lead that may lack records. Several changes in one image are not judged."""
        if new.leader in (NO_LEADER, old.leader) or new.partition_epoch != old.partition_epoch + 1:
            return
        may_lead = {*old.isr, *old.eligible_leader_replicas, *old.last_known_elr}
        self._demand(new.leader in may_lead, f"{new.leader} leads {name}, and only {sorted(may_lead)} may")

    def _leader_of(self, topic_id: bytes, index: int, leader_id: int, leader_epoch: int) -> tuple[int, ...] | None:
        """The maximal in-sync set of a leader, if it leads in that epoch now."""
        partition = self._replica_of(leader_id, topic_id, index)
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
            partition = self._replica_of(node_id, topic_id, index)
            if partition is not None and partition.log.log_end_offset < offset:
                role = "in sync" if node_id in state.isr else "eligible"
                self._tell(
                    f"{node_id} is {role} and ends at {partition.log.log_end_offset}: {partition} is committed up to "
                    f"{offset}"
                )

    def _note_cut(self, following: Following) -> None:
        if following._is_over:
            # Nothing was cut: the partition has another leader by now, or is gone.
            return
        log = following._log
        newest = log.leader_epochs.entries[-1] if log.log_end_offset > log.log_start_offset else None
        if newest is not None and newest.start_offset >= log.log_end_offset:
            # The leader does not know that epoch, and asks for the same cut again and again (KAFKA-10706).
            self._tell(f"{log.directory.name} was cut to {log.log_end_offset} and still has {newest}")
        for server in self._servers.values():
            for partition in server.node.replicas.all() if server.is_up and server.node is not None else ():
                if partition.following is following:
                    self._check_members(partition.topic_id, partition.index)
                    self.anomalies += _unequal_producers(server.name, partition)

    def _note_followed(self, following: Following) -> None:
        """An answer is in the log; whether it came from the leader that it was asked of, the leader's log shows."""
        log = following._log
        if following._is_over or log.log_end_offset == log.log_start_offset:
            return
        topic, index = log.directory.name.rsplit("-", 1)
        known = self._newest.topics.by_name(topic)
        leader = None if known is None else self._replica_of(following.leader_id, known.id, int(index))
        if leader is None or not leader.is_leader or leader.leader_epoch != following.leader_epoch:
            return
        last_offset = log.log_end_offset - 1
        own, leaders = (one.leader_epochs.epoch_of(last_offset) for one in (log, leader.log))
        self._demand(
            ends_like_leader(log, leader.log),
            f"a follower of {leader} has epoch {own} at {last_offset}: its leader has {leaders} there, starts at "
            f"{leader.log.log_start_offset} and ends at {leader.log.log_end_offset}",
        )

    def _note_commit(self, partition: Partition) -> None:
        leader = partition._leader
        if leader is None:
            return
        self._demand(
            len(leader.in_sync) >= leader.effective_min_insync_replicas,
            f"{partition} is committed up to {leader.high_watermark}, with no more than {leader.in_sync} in sync",
        )
        for node_id in leader.maximal_in_sync:
            follower = leader.followers.get(node_id)
            if follower is not None and follower.log_end_offset < leader.high_watermark:
                self._tell(
                    f"{partition} is committed up to {leader.high_watermark}: {node_id}, which may be in sync, has "
                    f"fetched up to {follower.log_end_offset}"
                )
        self._note_committed(partition)

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
                    try:
                        self._note_batches(server, partition)
                    except CorruptRecords as damage:
                        self._tell(f"{partition} on {server.name} cannot be read: {damage}")

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


def ends_like_leader(log: Log, leaders: Log) -> bool:
    """Whether the last record of a follower's log is, as far as epochs tell, the one that its leader has or had there.

    An answer may be under way while the leader deletes records of it, and with them their epochs. Epochs never fall
    along a log: what the leader has deleted is not of a later one than where its log starts now.
    """
    last_offset, start_offset = log.log_end_offset - 1, leaders.log_start_offset
    own = log.leader_epochs.epoch_of(last_offset)
    if last_offset < start_offset:
        return own <= leaders.leader_epochs.epoch_of(start_offset)
    return last_offset < leaders.log_end_offset and own == leaders.leader_epochs.epoch_of(last_offset)


def _with_itself(note: Callable[[Any], None]) -> Callable[..., None]:
    """A hook that looks at the object alone whose method was called."""
    return lambda _result, itself, *_arguments, **_options: note(itself)


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
