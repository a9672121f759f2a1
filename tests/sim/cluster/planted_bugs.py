"""Bugs to plant into a cluster, each of a kind that somebody has shipped: the simulator must find every one of them.

A bug is a change of one function, for as long as its context lasts. What it breaks is a rule of replication, of the
controller or of a coordinator that matters only when a node fails at the wrong moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from ottla.broker.controller import deciders
from ottla.broker.controller.active_controller import ActiveController
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.runtime import CoordinatorRuntime
from ottla.broker.handlers import k02_list_offsets, k27_write_txn_markers
from ottla.broker.quorum.persister import Persister
from ottla.broker.quorum.quorum_state_file import QuorumStateFile, encode_quorum_state
from ottla.broker.quorum.snapshotter import Snapshotter
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.fetching import Fetching
from ottla.metadata.controller import alter_partition, heartbeats, partition_change, producer_ids
from ottla.metadata.controller.brokers import registered_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.decision import Decision
from ottla.metadata.image import PartitionState
from ottla.replication.follower_progress import FollowerProgress
from ottla.replication.follower_state import FollowerState
from ottla.replication.leader_state import LeaderState
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.storage.log import Log
from ottla.storage.producer_state import ProducerStates
from ottla.testing.history import AnomalyKind
from ottla.testing.sim.cluster import HarshCluster, QuietCluster
from ottla.testing.sim.simulation import WorldFactory
from sim.hunting import PlantedBug
from sim.raft.planted_bugs import vote_for_an_older_log, vote_forgotten_at_restart


@contextmanager
def _change(*changes: tuple[Any, str, Callable[[Any], Any]]) -> Iterator[None]:
    """Gives functions of classes or modules another shape, made of the one that they have."""
    with ExitStack() as stack:
        for owner, name, change in changes:
            stack.enter_context(patch.object(owner, name, change(getattr(owner, name))))
        yield


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _original: lambda *_arguments, **_options: value


# -- replication ------------------------------------------------------------------------------------------------------


def watermark_by_committed_isr() -> Any:
    """A replica whose addition to the in-sync set is under way is not waited for."""

    def is_waited_for(self: LeaderState, replica_id: int, *_: Any) -> bool:
        return replica_id in self.in_sync

    return _change((LeaderState, "_is_waited_for", lambda _: is_waited_for))


def watermark_advances_below_min_isr() -> Any:
    """What the few that are left have counts as committed."""

    def change(original: Any) -> Any:
        def advance(self: LeaderState, now_ms: int) -> None:
            was_under, self.is_under_min_isr = self.is_under_min_isr, False
            original(self, now_ms)
            self.is_under_min_isr = was_under

        return advance

    return _change((LeaderState, "_advance", change))


def watermark_from_a_diverging_fetch() -> Any:
    """How far a follower has come is noted before it is asked in which epoch it fetched, and what."""

    def change(original: Any) -> Any:
        def read(self: Fetching, partition: Any, wanted: Any, *rest: Any) -> Any:
            if self._follower is not None:
                self._note_progress(self._follower, partition, wanted)
            return original(self, partition, wanted, *rest)

        return read

    return _change((Fetching, "_read_partition", change), (Partition, "check_leader_epoch", _always(None)))


def expansion_before_the_epochs_start() -> Any:
    """Whoever has reached the watermark may be in sync, although a new leader does not know it yet."""

    def change(original: Any) -> Any:
        def propose(self: LeaderState, *arguments: Any) -> Any:
            start, self.epoch_start_offset = self.epoch_start_offset, 0
            proposal = original(self, *arguments)
            self.epoch_start_offset = start
            return proposal

        return propose

    return _change((LeaderState, "_propose_expansion", change))


def truncation_to_the_watermark() -> Any:
    """A follower trusts its own watermark and not the epochs (before KIP-101)."""

    def change(original: Any) -> Any:
        def begin(self: FollowerState, *arguments: Any, **options: Any) -> None:
            original(self, *arguments, **options)
            self.position = replace(self.position, fetch_offset=options["high_watermark"])

        return begin

    return _change((FollowerState, "__init__", change))


def late_fetch_answer_appended() -> Any:
    """An answer is taken whatever was asked for, and in which epoch."""

    def change(original: Any) -> Any:
        def answered(self: FollowerState, _asked: Any, answer: Any, own_end: Any) -> Any:
            return original(self, self.position, answer, own_end)

        return answered

    return _change((FollowerState, "answered", change))


def acknowledged_by_offset_alone() -> Any:
    """Whoever waits for a commit does not ask in which leader epoch it came about."""

    def is_acknowledged(self: Partition, acks: int, appended: Any) -> bool:
        leader = self._leader
        if leader is None:
            return False
        return (leader.high_watermark if acks == ACKS_ALL else leader.log_end_offset) > appended.last_offset

    return _change((Partition, "is_acknowledged", lambda _: is_acknowledged))


def acks_all_answered_by_the_leader_alone() -> Any:
    """A batch is acknowledged as soon as the leader has it."""

    def change(original: Any) -> Any:
        def is_acknowledged(self: Partition, _acks: int, appended: Any) -> bool:
            return bool(original(self, 1, appended))

        return is_acknowledged

    return _change((Partition, "is_acknowledged", change))


def empty_epoch_kept() -> Any:
    """A leader epoch without records stays in the history of a log that is cut at its end (KAFKA-10706)."""

    def change(original: Any) -> Any:
        def truncate_to(self: Log, offset: int, now_ms: int) -> bool:
            return offset < self.log_end_offset and original(self, offset, now_ms)

        return truncate_to

    return _change((Log, "truncate_to", change))


def producers_not_rebuilt_after_truncation() -> Any:
    """What was known of the records that were cut off is still known."""
    return _change((Log, "_reload_producers", _always(None)))


def end_offset_told_too_early() -> Any:
    """A new leader tells its watermark before it knows how far its predecessor's was (KIP-207)."""
    return _change((k02_list_offsets, "_require_known_watermark", _always(None)))


def after_append_check_left_out() -> Any:
    """A batch is acknowledged although too few are left that are in sync."""
    return _change((Partition, "check_in_sync_after_append", _always(None)))


def idle_partition_dropped() -> Any:
    """A follower that fetches nothing because there is nothing counts as one that does not fetch."""

    def is_caught_up(self: FollowerProgress, _leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> bool:
        return now_ms - self.last_caught_up_ms <= lag_time_max_ms

    return _change(
        (ReplicaManager, "caught_up_as_of", _always(None)),
        (FollowerProgress, "is_caught_up", lambda _: is_caught_up),
    )


# -- the controller ---------------------------------------------------------------------------------------------------


def alter_partition_without_partition_epoch() -> Any:
    """A leader's report is taken although it was made before the last change."""

    def change(original: Any) -> Any:
        def refusal(brokers: Any, leader_id: int, state: Any, asked: Any, wanted_isr: Any) -> Any:
            if state is not None:
                asked.partition_epoch = state.partition_epoch
            return original(brokers, leader_id, state, asked, wanted_isr)

        return refusal

    return _change((alter_partition, "_refusal", change))


def fenced_replica_admitted() -> Any:
    """A replica that keeps pace is in sync, whatever the controller thinks of its broker."""

    def is_eligible(self: LeaderState, replica_id: int, follower: Any) -> bool:
        return self._broker.live_brokers.get(replica_id, follower.broker_epoch) == follower.broker_epoch

    return _change(
        (alter_partition, "_is_eligible", _always(True)),
        (LeaderState, "_is_eligible", lambda _: is_eligible),
    )


def old_broker_epoch_admitted() -> Any:
    """What a broker had in its former life counts for the present one (before KIP-903)."""

    def is_eligible(self: LeaderState, replica_id: int, _follower: Any) -> bool:
        return replica_id in self._broker.live_brokers

    def is_active(brokers: Any, replica: Any) -> bool:
        return bool(brokers.is_active(replica.broker_id))

    return _change(
        (LeaderState, "_is_eligible", lambda _: is_eligible),
        (alter_partition, "_is_eligible", lambda _: is_active),
    )


def unclean_election_although_off() -> Any:
    """Any replica may lead rather than none."""
    return _change((ElectionRules, "allows_unclean", _always(True)))


def eligible_after_an_unclean_restart() -> Any:
    """A broker that may have lost what it acknowledged remains eligible to lead."""

    def change(original: Any) -> Any:
        def eligible(state: Any, isr: Any, _unclean_restarts: Any, by: Any) -> Any:
            return original(state, isr, (), by)

        return eligible

    return _change((partition_change, "_eligible", change))


def last_in_sync_member_forgotten() -> Any:
    """When the last replica leaves the in-sync set, nobody is eligible, and nobody knows who led."""

    def change(original: Any) -> Any:
        def eligible(state: Any, isr: Any, unclean_restarts: Any, by: Any) -> Any:
            return original(state, isr, unclean_restarts, by) if isr else ()

        return eligible

    return _change((partition_change, "_eligible", change), (partition_change, "_last_known", _always(None)))


def stale_broker_epoch_taken() -> Any:
    """A request of a broker's former life counts as one of the present."""

    def known(image: Any, broker_id: int, _broker_epoch: int) -> Any:
        return registered_broker(image, broker_id)

    return _change(*((owner, "known_broker", lambda _: known) for owner in (alter_partition, heartbeats, producer_ids)))


def new_controller_fences_all() -> Any:
    """A new controller counts as silence what it was not there to hear."""

    def change(original: Any) -> Any:
        def begin(self: BrokerSessions, session_timeout_ms: int, image: Any, now_ms: int) -> None:
            original(self, session_timeout_ms, image, now_ms)
            # It looks before anybody has had the time to send it a heartbeat.
            self.look_interval_ms = 1
            for session in self._sessions.values():
                session.last_seen_ms -= session_timeout_ms

        return begin

    return _change((BrokerSessions, "__init__", change))


def producer_id_block_twice() -> Any:
    """Blocks of producer ids are given out and not written down."""

    def change(original: Any) -> Any:
        def allocate(*arguments: Any) -> Any:
            return Decision([], original(*arguments).response)

        return allocate

    return _change((deciders, "allocate_producer_ids", change))


def decision_answered_before_its_commit() -> Any:
    """The controller answers when it has decided, whether or not a majority ever hears of it."""

    def until(_self: ActiveController, _end_offset: int) -> Any:
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    return _change((ActiveController, "until", lambda _: until))


def every_shutdown_taken_for_clean() -> Any:
    """A broker that died counts as one that was shut down: it keeps its place in the in-sync sets."""

    def change(original: Any) -> Any:
        def register(image: Any, registration: Any, **options: Any) -> Any:
            return original(image, replace(registration, previous_epoch=None), **options)

        return register

    return _change((deciders, "register_broker", change))


def leader_epoch_not_raised() -> Any:
    """Another leader leads in the same epoch."""

    def change(original: Any) -> Any:
        def changed_by(self: PartitionState, record: Any) -> PartitionState:
            return replace(original(self, record), leader_epoch=self.leader_epoch)

        return changed_by

    return _change((PartitionState, "changed_by", change))


def shutdown_granted_early() -> Any:
    """A broker may stop before the others know that they lead."""
    return _change((BrokerSessions, "all_have_followed_shutdown", _always(True)))


# -- the quorum -------------------------------------------------------------------------------------------------------


def vote_not_synced() -> Any:
    """The file with the vote is written, and not synced."""

    def write(self: QuorumStateFile, state: Any, *, kraft_version: int, voters: Any) -> None:
        self._file_system.write_file(self._path, encode_quorum_state(state, kraft_version, voters), sync=False)

    return _change((QuorumStateFile, "write", lambda _: write))


def metadata_promised_before_its_sync() -> Any:
    """A voter fetches on, which says that it has what it was sent, while that is in the kernel's memory alone."""

    def change(original: Any) -> Any:
        def persist(self: Persister, readys: Any) -> Any:
            self._syncs_log = False
            return original(self, readys)

        return persist

    return _change((Persister, "persist", change))


def snapshot_names_too_much() -> Any:
    """A snapshot claims to have the record after the last one that is in it."""

    def change(original: Any) -> Any:
        def take(self: Snapshotter, image: Any, timestamp_ms: int) -> Any:
            return original(self, replace(image, end_offset=image.end_offset + 1), timestamp_ms)

        return take

    return _change((Snapshotter, "_take", change))


# -- coordinators -----------------------------------------------------------------------------------------------------


def shard_serves_while_loading() -> Any:
    """A coordinator answers before it has read its log."""

    def change(original: Any) -> Any:
        def begin_load(self: CoordinatorRuntime[Any, Any], partition: int) -> None:
            self._put_to_work(partition, self._load(partition, iter(())))

        return begin_load

    return _change((CoordinatorRuntime, "_begin_load", change))


def shard_counts_what_is_not_committed() -> Any:
    """A coordinator tells what it has read, although it lies above the watermark."""

    async def wait(*_: Any) -> None:
        return None

    return _change((PartitionCoordinatorLog, "wait_all_committed", lambda _: wait))


def marker_acknowledged_before_it_is_replicated() -> Any:
    """The end of a transaction counts as written when the leader alone has it."""

    def append(self: Any, partition: Partition, row: Any) -> None:
        del row
        now_ms = self._context.broker.host.now_ms()
        partition.append(
            self._batch, acks=ACKS_ALL, now_ms=now_ms, transaction_version=self._marker.transaction_version
        )

    return _change((k27_write_txn_markers._Writing, "_append", lambda _: append))


def old_coordinators_marker_taken() -> Any:
    """A marker of a coordinator that was replaced ends a transaction."""

    def change(original: Any) -> Any:
        def check_marker(self: ProducerStates, header: Any, _coordinator_epoch: int, version: int) -> Any:
            return original(self, header, 2**31 - 1, version)

        return check_marker

    return _change((ProducerStates, "check_marker", change))


def _bug(plant: Callable[[], Any], *symptoms: AnomalyKind, world: WorldFactory = HarshCluster) -> PlantedBug:
    return PlantedBug(plant, frozenset(symptoms), world)


_INVARIANT = AnomalyKind.BROKEN_INVARIANT
_LOST = (_INVARIANT, AnomalyKind.LOST_WRITE, AnomalyKind.VANISHED_READ, AnomalyKind.INCONSISTENT_OFFSET)
_COORDINATOR = (
    _INVARIANT,
    AnomalyKind.COMMITTED_OFFSET_WENT_BACK,
    AnomalyKind.PHANTOM_COMMITTED_OFFSET,
    AnomalyKind.TORN_TRANSACTION,
    AnomalyKind.DUPLICATE,
    AnomalyKind.COPY_SKIP,
    AnomalyKind.COPY_AHEAD,
)
PLANTED = {
    bug.plant.__name__: bug
    for bug in (
        _bug(watermark_by_committed_isr, *_LOST),
        _bug(watermark_advances_below_min_isr, *_LOST),
        _bug(watermark_from_a_diverging_fetch, *_LOST),
        _bug(expansion_before_the_epochs_start, *_LOST),
        _bug(truncation_to_the_watermark, *_LOST),
        _bug(late_fetch_answer_appended, *_LOST),
        _bug(acknowledged_by_offset_alone, *_LOST),
        _bug(acks_all_answered_by_the_leader_alone, *_LOST),
        _bug(empty_epoch_kept, AnomalyKind.NO_PROGRESS, _INVARIANT),
        _bug(producers_not_rebuilt_after_truncation, _INVARIANT, AnomalyKind.DUPLICATE, AnomalyKind.NO_PROGRESS),
        _bug(end_offset_told_too_early, _INVARIANT, AnomalyKind.END_OFFSET_WENT_BACK),
        _bug(after_append_check_left_out, _INVARIANT),
        _bug(idle_partition_dropped, _INVARIANT, world=QuietCluster),
        _bug(alter_partition_without_partition_epoch, *_LOST),
        _bug(fenced_replica_admitted, _INVARIANT),
        _bug(old_broker_epoch_admitted, *_LOST),
        _bug(unclean_election_although_off, *_LOST),
        _bug(eligible_after_an_unclean_restart, *_LOST),
        _bug(last_in_sync_member_forgotten, AnomalyKind.NO_PROGRESS, _INVARIANT),
        _bug(stale_broker_epoch_taken, *_LOST),
        _bug(new_controller_fences_all, _INVARIANT, world=QuietCluster),
        _bug(producer_id_block_twice, AnomalyKind.DUPLICATE, AnomalyKind.LOST_WRITE, AnomalyKind.NO_PROGRESS),
        _bug(decision_answered_before_its_commit, _INVARIANT),
        _bug(every_shutdown_taken_for_clean, *_LOST),
        _bug(leader_epoch_not_raised, _INVARIANT),
        _bug(shutdown_granted_early, _INVARIANT),
        _bug(vote_not_synced, _INVARIANT),
        _bug(vote_forgotten_at_restart, _INVARIANT),
        _bug(vote_for_an_older_log, _INVARIANT, AnomalyKind.NODE_ERROR),
        _bug(metadata_promised_before_its_sync, _INVARIANT),
        _bug(snapshot_names_too_much, _INVARIANT, AnomalyKind.NODE_ERROR),
        _bug(shard_serves_while_loading, *_COORDINATOR),
        _bug(shard_counts_what_is_not_committed, *_COORDINATOR),
        _bug(marker_acknowledged_before_it_is_replicated, _INVARIANT, AnomalyKind.TORN_TRANSACTION),
        _bug(old_coordinators_marker_taken, *_COORDINATOR),
    )
}

# Nothing has shown them so far, in less than half an hour each: they need rarer moments than those runs had. They are
# tried by their names.
#
# - expansion_before_the_epochs_start: a new leader whose watermark is behind its log, because another member of the
#   in-sync set is silent, and an outsider that comes back just then and has not fetched everything yet.
# - late_fetch_answer_appended: a follower hears in one step that its leader has lost and regained the lead, while an
#   answer is under way. Between two steps the fetcher forgets what it has asked for.
# - after_append_check_left_out: a request for two partitions, of which the second is committed first and then loses its
#   replicas, while the first one still waits.
NOT_SEEN_YET = frozenset(
    {
        "expansion_before_the_epochs_start",
        "late_fetch_answer_appended",
        "after_append_check_left_out",
    }
)
