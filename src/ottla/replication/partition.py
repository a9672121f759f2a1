"""One partition as its broker sees it: its log, who leads it, and who waits for it.

This is the shell around `LeaderState`: it tells that state what happens to the log, and the log and the watchers what
follows from it. While another broker leads, `Following` is in its place.

Guarantees
- Only the leader of the current epoch appends and serves; others say so with the error that makes a client look again.
- There is one way to append, for a client's batch and for what the broker writes itself. It is done at once, or put
  into the queue of a disk that must not hold up the others; either way the outcome names leader epoch and offset.
- What waits in that queue when its leader epoch ends is refused, not written: the queue may let a later epoch begin
  before its turn, and that epoch's leader or follower must know where the log ends.
- A record is committed, and so visible and acknowledged under acks=all, once the high watermark has passed it in the
  leader epoch in which it was appended. After a change of leader another record may stand at its offset: whoever waits
  for the old one hears NOT_LEADER_OR_FOLLOWER, wherever the watermark is.
- acks=all is refused, before anything is written, while fewer replicas are in sync than the topic asks for, or has.
- An append that reaches flush.messages counts for the watermark, and is acknowledged under any acks, only when the sync
  it asks for has ended, see `unsynced_tail`. Nobody reads what a power cut could still take back. If the sync fails,
  producers hear so at once. A disk that is only full may have space later: the records stay in the log, the broker
  tries again, and coordinators wait for that.

Invariants: log start <= high watermark <= log end; epochs only grow; a log has one `Partition`. When a log moves to
another directory, the partition goes with it: it is the same replica, and the same leader in the same epoch.

What survives a crash is the log and the metadata log; in-sync set and epochs come back from the latter, the high
watermark from a checkpoint and, at the latest, from the replicas' next fetches.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import BatchHeader
from ottla.protocol.schema import Records
from ottla.replication.append_queue import Appending, AppendQueue
from ottla.replication.follower_progress import UNKNOWN_OFFSET
from ottla.replication.following import Following
from ottla.replication.leader_state import InSyncDecision, InSyncProposal, Leadership, LeaderState, LeadingBroker
from ottla.replication.unsynced_tail import UnsyncedTail
from ottla.replication.watchers import Interest, Watcher, Watchers
from ottla.storage.batch_placement import ClientRun
from ottla.storage.errors import StorageError
from ottla.storage.log import AppendInfo, Log
from ottla.storage.log_config import MAX_INT64, LogConfig
from ottla.storage.transaction_verification import VerificationGuard

T = TypeVar("T")

NO_EPOCH = -1
ACKS_ALL = -1
# What a producer may ask for.
KNOWN_ACKS = (ACKS_ALL, 0, 1)


# What an append comes to: where the batch went, or, if its disk has a queue, what will tell.
AppendOutcome: TypeAlias = AppendInfo | Appending[AppendInfo]


class BrokerView(LeadingBroker, Protocol):
    """What a partition needs of its broker."""

    def monotonic_ms(self) -> int:
        """A clock that never jumps."""

    def disk_failed(self, error: StorageError) -> ApiError:
        """Takes a failed disk out of service, and gives the error for whoever was using it."""

    def propose(self, partition: "Partition", proposal: InSyncProposal) -> None:
        """Asks the controller for a change of the in-sync set, and brings the answer to `in_sync_answered`."""

    def caught_up_as_of(self, partition: "Partition", replica_id: int) -> int | None:
        """When a follower last fetched by a session that had nothing new to tell about a partition."""

    def hurry(self, replica_id: int) -> None:
        """Answers the fetch in which a follower waits, so that it can send another one."""

    def begin_sync(self, partition: "Partition") -> None:
        """Syncs the log in a thread, then calls the partition's `synced` or `sync_failed`.

        After a failure `sync_again` follows, as long as the partition is in service.
        """


class Partition:
    """A partition that has a replica on this broker."""

    __slots__ = (
        "_broker",
        "_leader",
        "_queue",
        "_told_log_start_offset",
        "_uncommitted_bytes",
        "_unsynced",
        "_watchers",
        "following",
        "index",
        "is_leader",
        "leader_epoch",
        "leadership",
        "log",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        broker: BrokerView,
        log: Log,
        leadership: Leadership,
        queue: AppendQueue | None = None,
    ) -> None:
        """With a queue, everything that changes the log goes through it; without one, the caller does it at once."""
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self._broker = broker
        self._queue = queue
        self._watchers = Watchers()
        self._uncommitted_bytes = 0
        self._unsynced = UnsyncedTail()
        self._told_log_start_offset = log.log_start_offset
        self.leadership = leadership
        self.leader_epoch = NO_EPOCH
        self.is_leader = False
        # Of the current epoch, also while the partition is suspended; of its end, once it is closed. None while another
        # broker leads.
        self._leader: LeaderState | None = None
        # While another broker leads.
        self.following: Following | None = None
        self.apply(leadership)

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.index}, epoch {self.leader_epoch})"

    # -- what the metadata log says ---------------------------------------------------------------------------------

    def apply(self, leadership: Leadership) -> None:
        """Takes over a change of the leader, of the replicas or of the in-sync set."""
        assert leadership.leader_epoch >= self.leader_epoch, f"{self}: leader epoch {leadership.leader_epoch} is older"
        is_new_epoch = leadership.leader_epoch > self.leader_epoch
        self.leadership = leadership
        self.leader_epoch = leadership.leader_epoch
        self.is_leader = leadership.leader_id == self._broker.broker_id
        if is_new_epoch or self.is_leader:
            self._end_following()
        if not self.is_leader:
            self._leader = None
            self._follow()
        elif is_new_epoch or self._leader is None:
            self._begin_to_lead(leadership)
        else:
            self._leader.changed(leadership, self._broker.monotonic_ms())
        self._publish_high_watermark()
        if is_new_epoch or not self.is_leader:
            self._watchers.wake_all()

    def update_config(self, config: LogConfig) -> None:
        """New settings hold from the next operation on."""
        self.log.update_config(config)
        self.sync_again()
        if self._leader is not None:
            self._leader.min_insync_replicas_changed(config.min_insync_replicas, self._broker.monotonic_ms())
            self._publish_high_watermark()

    def close(self) -> None:
        """Takes the partition out of service here for good: it was deleted or reassigned, or its disk failed."""
        self.suspend()
        if self._leader is not None:
            self._leader.withdraw()

    def suspend(self) -> None:
        """Takes the partition out of service for a moment, at the end of which its log may have moved.

        Whoever holds it hears that it is not led here, and looks again. Its leader epoch goes on: what the controller
        answers meanwhile counts, or an in-sync set would be believed that is none any more.
        """
        self.is_leader = False
        self._end_following()
        self._watchers.wake_all()

    def move_to(self, log: Log, queue: AppendQueue | None) -> None:
        """The log of a suspended partition has moved: this is its copy, which is synced and has all of it.

        Nothing is on its way to the log. What its leader knows stays true, the change of the in-sync set that it has
        asked for above all: the controller may have decided on it, and the image does not tell yet.
        """
        self.log = log
        self._queue = queue
        # A sync of the old log may be under way; it is of no interest any more.
        self._unsynced = UnsyncedTail()
        if self._leader is not None:
            self._count(self._leader, log.log_end_offset)

    def resume(self) -> None:
        """Puts a suspended partition back into service."""
        self.is_leader = self._leader is not None
        if not self.is_leader:
            self._follow()
        self._publish_high_watermark()
        self.sync_again()

    # -- the leader's side --------------------------------------------------------------------------------------------

    def begin_verification(
        self, producer_id: int, producer_epoch: int, base_sequence: int, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """Before a transactional batch is appended: the guard to append it with, once its coordinator agreed.

        None if there is nothing to ask: a transaction of that producer and epoch is open here, or verification is
        switched off. A client of transaction.version 2 `supports_epoch_bump`: the question adds its partitions, so it
        is always asked.
        """
        log = self.log
        if not (supports_epoch_bump or log.config.transaction_verification_enabled):
            return None
        if log.producers.has_open_transaction(producer_id, producer_epoch):
            return None
        # Before the question: to ask is to begin the transaction.
        log.producers.check_epoch(producer_id, producer_epoch)
        return log.producers.verification.begin(
            producer_id, producer_epoch, base_sequence, supports_epoch_bump=supports_epoch_bump
        )

    def append(
        self,
        records: Records,
        *,
        acks: int,
        now_ms: int,
        header: BatchHeader | None = None,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendOutcome:
        """Appends in the current epoch; ApiError if that is refused, and then nothing is written.

        With a `header` it is a client's batch, whose header was checked; without one, batches that this broker made
        itself. A marker of a transaction is judged by the rules of the transaction version; a repeated one is a
        duplicate. A producer is answered once the outcome `is_acknowledged`.

        A batch that waits for its turn may still be refused. If too much waits for the disk, a batch of the broker's
        own is refused with REQUEST_TIMED_OUT.
        """
        leader = self._leader
        if leader is None or not self.is_leader:
            raise self.not_leader()
        if acks == ACKS_ALL and leader.is_under_min_isr:
            raise self._too_few_in_sync(leader, ErrorCode.NOT_ENOUGH_REPLICAS)
        if self._queue is not None:
            settle = partial(self._appended, len(records))
            work = self._append_work(now_ms, header, verification, transaction_version)
            return self._queue.put(self._in_this_epoch(work), records, settle, is_own=header is None)
        try:
            if header is not None:
                # The way of nearly every batch there is: a plain call.
                info = self.log.append_as_leader(
                    records, leader_epoch=self.leader_epoch, now_ms=now_ms, header=header, verification=verification
                )
            else:
                info = self.log.append_own_as_leader(
                    records,
                    leader_epoch=self.leader_epoch,
                    now_ms=now_ms,
                    verification=verification,
                    transaction_version=transaction_version,
                )
        except StorageError as error:
            raise self._broker.disk_failed(error) from error
        self._appended(len(records), info)
        return info

    def appends_at_once(self, acks: int) -> bool:
        """Whether an append is not refused because of its acks, and done without a wait for a disk."""
        leader = self._leader
        return (
            leader is not None
            and self.is_leader
            and acks in KNOWN_ACKS
            and self._queue is None
            and self.log.config.flush_messages == MAX_INT64
            and not (acks == ACKS_ALL and leader.is_under_min_isr)
        )

    @property
    def has_followers(self) -> bool:
        """Whether acks=all waits for other replicas."""
        return self._leader is not None and bool(self._leader.followers)

    def append_run(self, run: ClientRun, *, now_ms: int) -> AppendInfo | None:
        """Appends batches of clients in one write, all or none, to a partition that `appends_at_once`.

        Their headers were checked. None, or ApiError, if they cannot be appended together; nothing is written then.
        """
        try:
            info = self.log.append_run_as_leader(run, leader_epoch=self.leader_epoch, now_ms=now_ms)
        except StorageError as error:
            raise self._broker.disk_failed(error) from error
        if info is not None:
            self._appended(sum([len(records) for records, _ in run]), info)
        return info

    def delete_records(self, before_offset: int) -> int | Appending[int]:
        """Moves the log start to the offset unless it is later already; the log start then, or what will tell."""

        def delete(_: Records) -> int:
            self.log.increment_log_start_offset(before_offset)
            return self.log.log_start_offset

        if self._queue is not None:
            return self._queue.put(self._in_this_epoch(delete), b"", lambda _: self.tell_log_start())
        log_start_offset = delete(b"")
        self.tell_log_start()
        return log_start_offset

    @property
    def low_watermark(self) -> int:
        """Before this offset every live replica has deleted its records."""
        start = self.log.log_start_offset
        return start if self._leader is None else self._leader.low_watermark(start)

    def is_deleted(self, leader_epoch: int, before_offset: int) -> bool:
        """Whether every live replica has deleted its records before an offset; NOT_LEADER_OR_FOLLOWER if the epoch in
        which that was asked for is over."""
        if not self.is_leader or self.leader_epoch != leader_epoch:
            raise self.not_leader()
        return self.low_watermark >= before_offset

    @property
    def has_queue(self) -> bool:
        """Whether appends wait for their turn: one of an earlier epoch may be on its way to the log."""
        return self._queue is not None

    def barrier(self) -> Appending[None] | None:
        """Is done when all that was appended before is done; None if nothing is ever on its way."""
        return None if self._queue is None else self._queue.put(_nothing, b"", _nothing)

    def is_committed(self, leader_epoch: int, last_offset: int) -> bool:
        """Whether every in-sync replica has what was appended in an epoch; NOT_LEADER_OR_FOLLOWER if that is over.

        Of a closed partition what was committed before is still known, and the rest will not be known here.
        """
        leader = self._leader
        if leader is None or leader.leader_epoch != leader_epoch:
            raise self.not_leader()
        if leader.high_watermark > last_offset:
            return True
        if not self.is_leader:
            self.check_sync()
            raise self.not_leader()
        return False

    def is_acknowledged(self, acks: int, appended: AppendInfo) -> bool:
        """Whether a producer may be told of success: committed under acks=all, otherwise appended.

        Either includes the sync that flush.messages asks for. ApiError if that failed, or the epoch is over.
        """
        leader = self._leader
        if leader is None or leader.leader_epoch != appended.leader_epoch:
            raise self.not_leader()
        if (leader.high_watermark if acks == ACKS_ALL else leader.log_end_offset) > appended.last_offset:
            return True
        self.check_sync()
        if not self.is_leader:
            raise self.not_leader()
        return False

    def check_in_sync_after_append(self) -> None:
        """For a batch that is committed: NOT_ENOUGH_REPLICAS_AFTER_APPEND if too few replicas are left to keep it."""
        leader = self._leader
        if leader is not None and len(leader.maximal_in_sync) < leader.effective_min_insync_replicas:
            raise self._too_few_in_sync(leader, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def follower_fetched(
        self,
        replica_id: int,
        fetch_offset: int,
        log_start_offset: int,
        leader_end_offset: int,
        broker_epoch: int,
        *,
        names_epoch: bool = True,
    ) -> None:
        """Takes note of how far a follower has come: what it has may be committed, or make it a member of the in-sync
        set.

        The fetch did not diverge, and `leader_end_offset` is the log's end from before the read. Fetches of today's
        brokers name the leader epoch.
        """
        leader = self._leader
        if leader is None or not self.is_leader:
            raise self.not_leader()
        known = leader.followers.get(replica_id)
        start_before = UNKNOWN_OFFSET if known is None else known.log_start_offset
        proposal = leader.fetched(
            replica_id,
            fetch_offset=fetch_offset,
            log_start_offset=log_start_offset,
            leader_end_offset=leader_end_offset,
            broker_epoch=broker_epoch,
            names_epoch=names_epoch,
            now_ms=self._broker.monotonic_ms(),
        )
        self._publish_high_watermark()
        if log_start_offset > start_before != UNKNOWN_OFFSET:
            # Somebody may wait for the low watermark.
            self._watchers.wake_all()
        self._ask_for(proposal)

    def tick(self) -> None:
        """Every half of replica.lag.time.max.ms: asks to remove from the in-sync set who has fallen behind."""
        leader = self._leader
        if leader is not None and self.is_leader and leader.followers:
            self._ask_for(leader.tick(self._broker.monotonic_ms(), self._caught_up_as_of))

    def expand_in_sync(self) -> None:
        """Something has changed that may have kept a replica out of the in-sync set: asks to let it in."""
        leader = self._leader
        if leader is not None and self.is_leader and leader.followers:
            self._ask_for(leader.next_expansion(self._broker.monotonic_ms(), self._caught_up_as_of))

    def in_sync_answered(self, proposal: InSyncProposal, answer: InSyncDecision | ErrorCode) -> InSyncProposal | None:
        """The controller's answer to a proposal; the proposal again if it is to be sent again."""
        leader = self._leader
        if leader is None:
            return None
        again = leader.answered(proposal, answer, self._broker.monotonic_ms())
        if self.is_leader:
            # Otherwise its log may be on the move: `resume` does it.
            self._publish_high_watermark()
        if isinstance(answer, InSyncDecision):
            self.expand_in_sync()
        return again

    def is_pending(self, proposal: InSyncProposal) -> bool:
        """Whether a proposal that was not answered is to be sent again."""
        return self._leader is not None and self._leader.is_pending(proposal)

    def _caught_up_as_of(self, replica_id: int) -> int | None:
        return self._broker.caught_up_as_of(self, replica_id)

    def _ask_for(self, proposal: InSyncProposal | None) -> None:
        if proposal is not None:
            self._broker.propose(self, proposal)

    @property
    def in_sync_ids(self) -> tuple[int, ...]:
        """The in-sync set; the leader may know it before the image does."""
        return self.leadership.in_sync if self._leader is None else self._leader.in_sync

    @property
    def effective_min_insync_replicas(self) -> int:
        """How many replicas must be in sync for acks=all: no more than there are."""
        return min(self.log.config.min_insync_replicas, len(self.leadership.replicas))

    @property
    def has_reached_epoch_start(self) -> bool:
        """Whether the watermark of this leader can be told to clients: no earlier leader told a later one (KIP-207)."""
        return self._leader is not None and self._leader.has_reached_epoch_start

    def check_leader_epoch(self, client_epoch: int) -> None:
        """Refuses a client that knows an older or a newer leader than we do (KIP-320)."""
        if client_epoch in (NO_EPOCH, self.leader_epoch):
            return
        if client_epoch < self.leader_epoch:
            message = f"Leader epoch {client_epoch} of {self.topic}-{self.index} is over; it is {self.leader_epoch} now"
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH, message)
        message = f"Leader epoch {client_epoch} of {self.topic}-{self.index} is not known here yet"
        raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH, message)

    def require_leader(self) -> None:
        """Refuses what only a leader may answer."""
        if not self.is_leader:
            raise self.not_leader()

    def not_leader(self) -> ApiError:
        """The error that sends a client to the leader."""
        leader = self.leadership.leader_id
        where = f"broker {leader} leads it" if leader >= 0 else "it has no leader now"
        return ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.topic}-{self.index} is not led here; {where}")

    # -- syncs that flush.messages asks for ---------------------------------------------------------------------------

    def synced(self) -> None:
        """The sync has ended that the partition began: what waited for it counts."""
        self._unsynced.sync_ended()
        self._count_synced()

    def sync_failed(self, error: ApiError) -> None:
        """The sync has failed: producers that wait for it hear so."""
        self._unsynced.sync_ended(error)
        self._watchers.wake_all()

    def check_sync(self) -> None:
        """ApiError if the last sync failed, and none is under way."""
        self._unsynced.check()

    def sync_again(self) -> None:
        """After a failure, or when it may not be needed any more."""
        if not self._unsynced.is_syncing:
            self._count_synced()

    # -- waiting ------------------------------------------------------------------------------------------------------

    def watch(self, watcher: Watcher, interest: Interest = Interest.VISIBLE) -> None:
        """Calls `watcher` whenever a reader with this interest could be told something new, until `unwatch`."""
        self._watchers.add(watcher, interest)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.remove(watcher)

    def tell_log_start(self) -> None:
        """Tells everybody who waits if records were deleted, which the log does by itself and in any thread."""
        log_start_offset = self.log.log_start_offset
        if log_start_offset != self._told_log_start_offset:
            self._told_log_start_offset = log_start_offset
            self._watchers.wake_all()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Follows the leader of the epoch, if there is one."""
        leader_id = self.leadership.leader_id
        if self.following is None and leader_id >= 0:
            self.following = Following(leader_id, self.leader_epoch, self.log, self._queue)

    def _end_following(self) -> None:
        if self.following is not None:
            self.following.end()
            self.following = None

    def _begin_to_lead(self, leadership: Leadership) -> None:
        log, epoch = self.log, leadership.leader_epoch
        leader = self._leader = LeaderState(
            self._broker,
            leadership,
            min_insync_replicas=log.config.min_insync_replicas,
            now_ms=self._broker.monotonic_ms(),
        )
        self._uncommitted_bytes = 0
        self._unsynced.clear()

        def begin() -> int:
            log.assign_leader_epoch(epoch)
            return log.log_end_offset

        def began(start_offset: int) -> None:
            leader.epoch_began(start_offset, log.high_watermark)
            if self._leader is leader:
                # Not what the log has now: what a thread has appended since is counted as it is settled. What a crash
                # left unsynced waits for its sync as well.
                self._count(leader, start_offset)
                self._publish_high_watermark()
                self._hurry_silent_followers(leader)

        if self._queue is None:
            began(begin())
        else:
            # After the change of the epoch before that may be under way, and may cut the log. Those that wait will not
            # be made.
            self._queue.barrier(begin, began)

    def _in_this_epoch(self, work: Callable[[Records], T]) -> Callable[[Records], T]:
        """The same work, which is refused if its turn comes after this leader epoch."""
        epoch = self.leader_epoch

        def work_unless_over(records: Records) -> T:
            # The loop may change the epoch right after this look: the barrier of the new one waits for this work.
            if self.leader_epoch != epoch:
                message = f"Leader epoch {epoch} of {self.topic}-{self.index} ended before its disk had its turn"
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
            return work(records)

        return work_unless_over

    def _append_work(
        self,
        now_ms: int,
        header: BatchHeader | None,
        verification: VerificationGuard | None,
        transaction_version: int,
    ) -> Callable[[Records], AppendInfo]:
        epoch = self.leader_epoch
        if header is not None:
            return partial(
                self.log.append_as_leader,
                leader_epoch=epoch,
                now_ms=now_ms,
                header=header,
                verification=verification,
            )
        return partial(
            self.log.append_own_as_leader,
            leader_epoch=epoch,
            now_ms=now_ms,
            verification=verification,
            transaction_version=transaction_version,
        )

    def _appended(self, size_bytes: int, info: AppendInfo) -> None:
        leader, log = self._leader, self.log
        _, last_offset, leader_epoch, _, _, _, is_duplicate = info
        if is_duplicate or leader is None or leader.leader_epoch != leader_epoch:
            return
        self._uncommitted_bytes += size_bytes
        self._watchers.appended(size_bytes)
        if leader.awaits_first_fetch:
            self._hurry_silent_followers(leader)
        if log.config.flush_messages != MAX_INT64 and log.must_flush_now:
            self._hold_until_synced(last_offset + 1)
            return
        # No further: a thread may have appended more, and the bytes of that are not counted yet.
        committed = leader.appended(last_offset + 1, self._broker.monotonic_ms() if leader.followers else 0)
        if committed > log.high_watermark:
            self._commit(committed)

    def _hurry_silent_followers(self, leader: LeaderState) -> None:
        for replica_id in leader.followers_to_hurry(self._broker.monotonic_ms()):
            self._broker.hurry(replica_id)

    def _count(self, leader: LeaderState, end_offset: int) -> None:
        """The log ends there: it counts at once, or after the sync that flush.messages asks for."""
        if self.log.must_flush_now:
            self._hold_until_synced(end_offset)
        else:
            leader.appended(end_offset, self._broker.monotonic_ms())

    def _hold_until_synced(self, end_offset: int) -> None:
        self._unsynced.hold(end_offset)
        self._begin_sync()

    def _begin_sync(self) -> None:
        if self._unsynced.begin_sync():
            self._broker.begin_sync(self)

    def _count_synced(self) -> None:
        leader, log = self._leader, self.log
        if leader is None:
            return
        counted = self._unsynced.count(log.recovery_point, must_flush=log.must_flush_now)
        if counted is None:
            return
        self._begin_sync()
        if counted > leader.log_end_offset:
            leader.appended(counted, self._broker.monotonic_ms())
        if leader.high_watermark > log.high_watermark:
            self._commit(leader.high_watermark)
        else:
            # Those who do not wait for replicas. An append that needed no sync may have counted their records since the
            # disk was done, and woke nobody.
            self._watchers.wake_all()

    def _too_few_in_sync(self, leader: LeaderState, code: ErrorCode) -> ApiError:
        count = len(leader.in_sync if code is ErrorCode.NOT_ENOUGH_REPLICAS else leader.maximal_in_sync)
        required = leader.effective_min_insync_replicas
        message = (
            f"{self.topic}-{self.index} has {count} in-sync replicas and needs {required} "
            "(min.insync.replicas) for acks=all"
        )
        return ApiError(code, message)

    def _publish_high_watermark(self) -> None:
        leader = self._leader
        if leader is not None and leader.high_watermark > self.log.high_watermark:
            self._commit(leader.high_watermark)

    def _commit(self, high_watermark: int) -> None:
        """Gives the log the watermark, and tells who waits for it."""
        log = self.log
        if log.producers.first_unstable_offset is not None:
            self._commit_around_transactions(high_watermark)
            return
        log.update_high_watermark(high_watermark)
        readable_bytes, self._uncommitted_bytes = self._uncommitted_bytes, 0
        self._watchers.committed(readable_bytes)
        self._watchers.stabilised(readable_bytes)

    def _commit_around_transactions(self, high_watermark: int) -> None:
        """The same while transactions are open: committed readers are told when the last stable offset moves.

        They are told of all that follows it, which may be more than they may read. A reader that finds too little waits
        again, until another transaction has ended.
        """
        log = self.log
        stable_before = log.last_stable_offset
        log.update_high_watermark(high_watermark)
        readable_bytes, self._uncommitted_bytes = self._uncommitted_bytes, 0
        self._watchers.committed(readable_bytes)
        if self._watchers.wait_for_stable and log.last_stable_offset > stable_before:
            self._watchers.stabilised(log.bytes_from(stable_before))


def _nothing(_: object) -> None:
    """What a barrier does."""
