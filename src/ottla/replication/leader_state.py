"""What the leader of a partition decides in one leader epoch: who is in sync, and what is committed.

Pure: it knows no log, no clock and no controller. The shell tells it what happened and carries out what it returns.

Guarantees
- The high watermark never passes what every member of the maximal in-sync set has, never goes back within the epoch,
  and stands still while fewer replicas are in sync than the effective minimum (KIP-966). That minimum is
  min(`min.insync.replicas`, number of replicas): a topic is never asked for more replicas than it has.
- The in-sync set changes through the controller alone (AlterPartition), one change at a time. A proposal is a value;
  whoever sends it brings the answer back with `answered`.
- A replica is proposed for the in-sync set once it has everything that is committed and has reached the start of this
  epoch, if its broker is neither fenced nor shutting down and the fetch came from the life of it that the image knows
  (KIP-903): a broker that came back with an empty disk must fetch before it counts.
- A replica that has not been caught up for replica.lag.time.max.ms is proposed for removal.

The maximal set is what the in-sync set may be, as far as this leader knows: the committed one, and the replica whose
addition is proposed. A replica whose removal is proposed stays in it. Whatever the controller has decided by the time
it elects another leader, that one has everything that was committed here. The watermark also waits for an eligible
replica that keeps pace outside of the set; otherwise a fast leader would never let it in.

Invariants: the leader is in the in-sync set; partition epochs only grow; a pending change is derived from the committed
set. Nothing here survives the epoch: the next leader begins with what the metadata log says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.follower_progress import UNKNOWN_BROKER_EPOCH, FollowerProgress

# The controller did not try: the set is what it was, and the next occasion brings the next proposal.
_NOT_ATTEMPTED = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
# The controller knows more than we do, and the image will tell. Until then the pending change stays as it is: it may
# have come about.
_TOLD_BY_IMAGE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)

# How often a follower that has not fetched yet is asked to: it may learn of a new leader after the leader itself.
HURRY_INTERVAL_MS = 20


@dataclass(frozen=True, slots=True)
class Leadership:
    """What the metadata log says about a partition's replicas."""

    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    partition_epoch: int


@dataclass(frozen=True, slots=True)
class InSyncProposal:
    """What AlterPartition is to ask for."""

    leader_epoch: int
    partition_epoch: int
    # Each with the broker epoch in which it fetched, -1 for one that has not yet.
    in_sync: tuple[tuple[int, int], ...]
    in_sync_count_before: int = 0


@dataclass(frozen=True, slots=True)
class InSyncDecision:
    """What the controller answered to a proposal it accepted."""

    leader_epoch: int
    partition_epoch: int
    in_sync: tuple[int, ...]


class LeadingBroker(Protocol):
    """The broker that leads; it is asked whenever it matters, so that its answers may change."""

    @property
    def broker_id(self) -> int:
        """The id that replicas name it by."""

    @property
    def replica_lag_time_max_ms(self) -> int:
        """For how long a replica may lag behind before it leaves the in-sync set."""

    @property
    def live_brokers(self) -> Mapping[int, int]:
        """The brokers neither fenced nor shutting down, with their broker epochs, as the image has them."""


class LeaderState:
    """One partition, led by this broker in one leader epoch."""

    __slots__ = (
        "_broker",
        "_hurry_due_ms",
        "_last_tick_ms",
        "_min_insync_replicas",
        "_pending",
        "_replica_count",
        "awaits_first_fetch",
        "effective_min_insync_replicas",
        "epoch_start_offset",
        "followers",
        "high_watermark",
        "in_sync",
        "is_under_min_isr",
        "leader_epoch",
        "log_end_offset",
        "maximal_in_sync",
        "partition_epoch",
    )

    def __init__(
        self,
        broker: LeadingBroker,
        leadership: Leadership,
        *,
        min_insync_replicas: int,
        now_ms: int,
    ) -> None:
        self._broker = broker
        self._min_insync_replicas = min_insync_replicas
        self._pending: InSyncProposal | None = None
        self._last_tick_ms = now_ms
        self._hurry_due_ms = 0
        self.leader_epoch = leadership.leader_epoch
        # Nothing is known of the log while a change of an earlier epoch is still under way there: it may be cut.
        self.log_end_offset = self.high_watermark = 0
        self.epoch_start_offset: int | None = None
        self.followers: dict[int, FollowerProgress] = {}
        # Whether an in-sync follower has not fetched in this epoch yet.
        self.awaits_first_fetch = False
        self.partition_epoch = leadership.partition_epoch
        self.in_sync = self.maximal_in_sync = leadership.in_sync
        # How many must be in sync for acks=all and for the watermark to move, and whether too few are.
        self.effective_min_insync_replicas = 0
        self.is_under_min_isr = False
        self._take_replicas(leadership, now_ms)

    # -- what happens -------------------------------------------------------------------------------------------------

    def epoch_began(self, start_offset: int, high_watermark: int) -> None:
        """The epoch is in the log, which ended there. What of it counts is yet to be told, with `appended`."""
        self.epoch_start_offset = start_offset
        self.log_end_offset = self.high_watermark = high_watermark

    def changed(self, leadership: Leadership, now_ms: int) -> None:
        """The image has changed within the epoch: the in-sync set, or the replicas in a reassignment."""
        assert leadership.leader_epoch == self.leader_epoch, "another epoch has another state"
        if leadership.partition_epoch < self.partition_epoch:
            # The controller's answer told us more than the image knows yet.
            return
        if leadership.partition_epoch > self.partition_epoch:
            self._commit(leadership.in_sync, leadership.partition_epoch)
        self._take_replicas(leadership, now_ms)
        self._advance(now_ms)

    def min_insync_replicas_changed(self, min_insync_replicas: int, now_ms: int) -> None:
        """The setting has changed; a smaller one may release the watermark."""
        self._min_insync_replicas = min_insync_replicas
        self._count_in_sync()
        self._advance(now_ms)

    def appended(self, log_end_offset: int, now_ms: int) -> int:
        """The log ends here now, as far as it counts; how far it is committed."""
        self.log_end_offset = log_end_offset
        if self.followers:
            self._advance(now_ms)
        elif log_end_offset > self.high_watermark:
            self.high_watermark = log_end_offset
        return self.high_watermark

    def fetched(
        self,
        replica_id: int,
        *,
        fetch_offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        broker_epoch: int,
        now_ms: int,
        names_epoch: bool = True,
    ) -> InSyncProposal | None:
        """A follower has fetched, and its log does not diverge; maybe it is to be in sync from now on.

        `leader_end_offset` is the end of the log from before the read. A fetch of a broker that is no replica is
        refused: with UNKNOWN_LEADER_EPOCH if it names the epoch of this leader, since that broker may have newer
        metadata, else with NOT_LEADER_OR_FOLLOWER; so is one of an earlier life of a replica.
        """
        follower = self.followers.get(replica_id)
        if follower is None:
            message = f"Broker {replica_id} is not a replica of this partition"
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH if names_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
        if broker_epoch < self._broker.live_brokers.get(replica_id, UNKNOWN_BROKER_EPOCH):
            message = f"Broker epoch {broker_epoch} of broker {replica_id} is over"
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
        follower.fetched(fetch_offset, log_start_offset, leader_end_offset, broker_epoch, now_ms)
        if self.awaits_first_fetch:
            self._look_for_silent()
        proposal = self._propose_expansion(replica_id, follower)
        self._advance(now_ms)
        return proposal

    def tick(self, now_ms: int, caught_up_as_of: Callable[[int], int | None]) -> InSyncProposal | None:
        """Every half of replica.lag.time.max.ms: who has fallen behind is to leave the in-sync set.

        `caught_up_as_of` knows the fetches of a follower that left this partition out because there was nothing new in
        it (KIP-227): when the last of them was, None if the partition was never settled. It is asked only about those
        that seem to be behind. After a pause of this process nobody is blamed: the fetches that came meanwhile are
        served first.
        """
        was_paused = now_ms - self._last_tick_ms > self._broker.replica_lag_time_max_ms
        self._last_tick_ms = now_ms
        if was_paused or self._pending is not None:
            return None
        kept = tuple(replica for replica in self.in_sync if not self._is_behind(replica, now_ms, caught_up_as_of))
        if len(kept) < len(self.in_sync):
            return self._propose(kept, maximal=self.in_sync)
        return self.next_expansion(now_ms, caught_up_as_of)

    def next_expansion(self, now_ms: int, caught_up_as_of: Callable[[int], int | None]) -> InSyncProposal | None:
        """Someone who could be in sync and is not: when a change was decided, a broker became live, or time has passed.

        A fetch proposes its replica by itself, unless another change is pending then, or its broker not live yet; and
        an idle partition hears of no further fetch.
        """
        if len(self.in_sync) == self._replica_count:
            return None
        for replica_id, follower in self.followers.items():
            if not self._is_behind(replica_id, now_ms, caught_up_as_of):
                proposal = self._propose_expansion(replica_id, follower)
                if proposal is not None:
                    return proposal
        return None

    def is_pending(self, proposal: InSyncProposal) -> bool:
        """Whether the answer to a proposal is still of interest."""
        return proposal is self._pending

    def withdraw(self) -> None:
        """Nobody here leads any more: what was proposed is void, and may come about all the same."""
        self._pending = None

    def answered(
        self, proposal: InSyncProposal, answer: InSyncDecision | ErrorCode, now_ms: int
    ) -> InSyncProposal | None:
        """The controller's answer to a proposal; the proposal again if it is to be sent again."""
        if not self.is_pending(proposal):
            # The image was faster.
            return None
        if isinstance(answer, InSyncDecision):
            if answer.leader_epoch == self.leader_epoch and answer.partition_epoch >= self.partition_epoch:
                self._commit(answer.in_sync, answer.partition_epoch)
                self._advance(now_ms)
            return None
        if answer in _NOT_ATTEMPTED:
            self._commit(self.in_sync, self.partition_epoch)
            self._advance(now_ms)
            return None
        return None if answer in _TOLD_BY_IMAGE else proposal

    # -- what follows -------------------------------------------------------------------------------------------------

    @property
    def has_reached_epoch_start(self) -> bool:
        """Whether the watermark is at least where any earlier leader may have told it to be (KIP-207)."""
        return self.epoch_start_offset is not None and self.high_watermark >= self.epoch_start_offset

    def followers_to_hurry(self, now_ms: int) -> tuple[int, ...]:
        """Those in sync that have not fetched in this epoch yet, unless they were named a moment ago.

        They may still wait in a fetch from before it, for up to replica.fetch.wait.max.ms. It names other partitions
        that this broker leads, and not this one: whoever asks for acks=all would wait as long.
        """
        if now_ms < self._hurry_due_ms:
            return ()
        self._hurry_due_ms = now_ms + HURRY_INTERVAL_MS
        return self._silent_followers()

    def _silent_followers(self) -> tuple[int, ...]:
        return tuple(
            replica
            for replica in self.maximal_in_sync
            if (follower := self.followers.get(replica)) is not None and not follower.has_fetched
        )

    def low_watermark(self, log_start_offset: int) -> int:
        """The lowest log start of this leader, whose own is given, and of the followers whose brokers are live."""
        live_brokers = self._broker.live_brokers
        starts = (one.log_start_offset for replica, one in self.followers.items() if replica in live_brokers)
        return min(log_start_offset, min(starts, default=log_start_offset))

    def _take_replicas(self, leadership: Leadership, now_ms: int) -> None:
        known = self.followers
        self.followers = {
            replica: known.get(replica) or FollowerProgress(now_ms, is_in_sync=replica in self.in_sync)
            for replica in leadership.replicas
            if replica != self._broker.broker_id
        }
        self._replica_count = len(leadership.replicas)
        self._count_in_sync()
        self._look_for_silent()

    def _look_for_silent(self) -> None:
        self.awaits_first_fetch = bool(self._silent_followers())

    def _count_in_sync(self) -> None:
        self.effective_min_insync_replicas = min(self._min_insync_replicas, self._replica_count)
        self.is_under_min_isr = len(self.in_sync) < self.effective_min_insync_replicas

    def _commit(self, in_sync: tuple[int, ...], partition_epoch: int) -> None:
        self.in_sync = self.maximal_in_sync = in_sync
        self.partition_epoch = partition_epoch
        self._pending = None
        self._count_in_sync()

    def _propose_expansion(self, replica_id: int, follower: FollowerProgress) -> InSyncProposal | None:
        if self._pending is not None or replica_id in self.in_sync or self.epoch_start_offset is None:
            return None
        if follower.log_end_offset < max(self.high_watermark, self.epoch_start_offset):
            return None
        if not self._is_eligible(replica_id, follower):
            return None
        expanded = (*self.in_sync, replica_id)
        return self._propose(expanded, maximal=expanded)

    def _propose(self, in_sync: tuple[int, ...], *, maximal: tuple[int, ...]) -> InSyncProposal:
        with_epochs = tuple((replica, self._broker_epoch_of(replica)) for replica in in_sync)
        self._pending = InSyncProposal(self.leader_epoch, self.partition_epoch, with_epochs, len(self.in_sync))
        self.maximal_in_sync = maximal
        return self._pending

    def _broker_epoch_of(self, replica_id: int) -> int:
        if replica_id == self._broker.broker_id:
            return self._broker.live_brokers.get(replica_id, UNKNOWN_BROKER_EPOCH)
        return self.followers[replica_id].broker_epoch if replica_id in self.followers else UNKNOWN_BROKER_EPOCH

    def _is_eligible(self, replica_id: int, follower: FollowerProgress) -> bool:
        live_brokers = self._broker.live_brokers
        return replica_id in live_brokers and live_brokers[replica_id] == follower.broker_epoch

    def _is_behind(self, replica_id: int, now_ms: int, caught_up_as_of: Callable[[int], int | None]) -> bool:
        follower = self.followers.get(replica_id)
        if follower is None or follower.is_caught_up(self.log_end_offset, now_ms, self._broker.replica_lag_time_max_ms):
            return False
        as_of_ms = caught_up_as_of(replica_id)
        if as_of_ms is not None:
            follower.still_caught_up(as_of_ms)
        return not follower.is_caught_up(self.log_end_offset, now_ms, self._broker.replica_lag_time_max_ms)

    def _advance(self, now_ms: int) -> None:
        if self.is_under_min_isr:
            return
        least = self.log_end_offset
        for replica_id, follower in self.followers.items():
            if follower.log_end_offset < least and self._is_waited_for(replica_id, follower, now_ms):
                least = follower.log_end_offset
        self.high_watermark = max(self.high_watermark, least)

    def _is_waited_for(self, replica_id: int, follower: FollowerProgress, now_ms: int) -> bool:
        if replica_id in self.maximal_in_sync:
            return True
        return self._is_eligible(replica_id, follower) and follower.is_caught_up(
            self.log_end_offset, now_ms, self._broker.replica_lag_time_max_ms
        )
