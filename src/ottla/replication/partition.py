"""One partition as its broker sees it: who leads, who is in sync, how far it is committed.

Guarantees
- Only the leader of the current epoch appends and serves; others say so with the error that makes a client look again.
- A record is committed, and so visible and acknowledged under acks=all, once every in-sync replica has it: the high
  watermark is the least log end offset in the in-sync set. The leader alone in sync commits as it appends.
- acks=all is refused while fewer than `min.insync.replicas` are in sync, before anything is written.

Invariants: log start <= high watermark <= log end; the leader is in the in-sync set; epochs only grow.

What survives a crash is the log and the metadata log; in-sync set and epochs come back from the latter, the high
watermark from a checkpoint and, at the latest, from the replicas' next fetches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import BatchHeader
from ottla.protocol.schema import Records
from ottla.storage.log import AppendInfo, Log
from ottla.storage.transaction_verification import VerificationGuard

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NO_EPOCH = -1
ACKS_ALL = -1

# Called with the number of bytes that became readable, when the high watermark moves, or the last stable offset for who
# reads committed records only; with 0 when something else did: the leader, its epoch, the first offset.
Watcher: TypeAlias = "Callable[[int], None]"


class Appending(Protocol[T_co]):
    """An append on its way to the disk."""

    async def result(self, deadline: float) -> T_co:
        """The outcome; ApiError if it failed, or is not known at the deadline."""

    def let_go(self) -> None:
        """Who put it there will not wait for it."""


class AppendQueue(Protocol):
    """What appends to the logs of a directory whose disk must not hold up the others."""

    def put(
        self,
        work: Callable[[Records], T],
        records: Records,
        settle: Callable[[T], None],
        *,
        is_own: bool = False,
    ) -> Appending[T]:
        """Has `work` called with the records, in turn, where it may wait; then `settle` gets the outcome.

        What is the broker's own does not wait until there is room: REQUEST_TIMED_OUT if too much of it is there.
        """


@dataclass(frozen=True, slots=True)
class Leadership:
    """What the metadata log says about a partition's replicas."""

    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    partition_epoch: int


class Partition:
    """A partition that has a replica on this broker."""

    __slots__ = (
        "_committed_watchers",
        "_follower_end_offsets",
        "_told_log_start_offset",
        "_uncommitted_bytes",
        "_watchers",
        "broker_id",
        "in_sync_ids",
        "index",
        "is_leader",
        "leader_epoch",
        "leadership",
        "log",
        "queue",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        broker_id: int,
        log: Log,
        leadership: Leadership,
        queue: AppendQueue | None = None,
    ) -> None:
        """With a queue everything that changes the log goes through it; without one it is done by the caller."""
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.broker_id = broker_id
        self.log = log
        self.queue = queue
        # In the order of their coming: who waits longest is told first.
        self._watchers: dict[Watcher, None] = {}
        self._committed_watchers: dict[Watcher, None] = {}
        self._uncommitted_bytes = 0
        self._told_log_start_offset = log.log_start_offset
        self._follower_end_offsets: dict[int, int] = {}
        self.leadership = leadership
        self.leader_epoch = NO_EPOCH
        self.is_leader = False
        self.in_sync_ids: tuple[int, ...] = ()
        self.apply(leadership)

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.index}, epoch {self.leader_epoch})"

    # -- what the metadata log says ---------------------------------------------------------------------------------

    def apply(self, leadership: Leadership) -> None:
        """Takes over a change of leader or of the in-sync set."""
        assert leadership.leader_epoch >= self.leader_epoch, f"{self}: leader epoch {leadership.leader_epoch} is older"
        is_new_epoch = leadership.leader_epoch > self.leader_epoch
        self.leadership = leadership
        self.leader_epoch = leadership.leader_epoch
        self.in_sync_ids = leadership.in_sync
        self.is_leader = leadership.leader_id == self.broker_id
        if is_new_epoch:
            self._follower_end_offsets = {replica: -1 for replica in leadership.replicas if replica != self.broker_id}
            if self.is_leader:
                self._begin_epoch(leadership.leader_epoch)
        if self.is_leader:
            self._advance_high_watermark()
        if is_new_epoch or not self.is_leader:
            self.wake(0)

    def close(self) -> None:
        """Puts the partition out of service here: it was deleted, moved, or its disk failed.

        Whoever still holds it hears that it is not led here, and looks again.
        """
        self.is_leader = False
        self.wake(0)

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
        header: BatchHeader,
        acks: int,
        now_ms: int,
        verification: VerificationGuard | None = None,
    ) -> AppendInfo:
        """Writes a client's batch, whose header was checked; under acks=all the caller waits until `is_committed`."""
        self._check_append(acks)
        info = self.log.append_as_leader(
            records, leader_epoch=self.leader_epoch, now_ms=now_ms, header=header, verification=verification
        )
        if not info.is_duplicate:
            self._advance_high_watermark(len(records))
        return info

    def queue_append(
        self,
        queue: AppendQueue,
        records: Records,
        header: BatchHeader,
        acks: int,
        now_ms: int,
        verification: VerificationGuard | None = None,
    ) -> Appending[AppendInfo]:
        """As `append`, in turn; what is refused before it is written is refused at once."""
        self._check_append(acks)
        work = partial(
            self.log.append_as_leader,
            leader_epoch=self.leader_epoch,
            now_ms=now_ms,
            header=header,
            verification=verification,
        )
        return queue.put(work, records, partial(self._appended, len(records)))

    def append_own(
        self,
        batches: Records,
        now_ms: int,
        *,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Writes batches that this broker made itself, as a coordinator does; with acks=all in mind.

        A marker of a transaction is judged by the rules of the transaction version; a repeated one is a duplicate.
        """
        self._check_append(ACKS_ALL)
        info = self._own_append(now_ms, verification, transaction_version)(batches)
        if not info.is_duplicate:
            self._advance_high_watermark(len(batches))
        return info

    def queue_own(
        self,
        queue: AppendQueue,
        batches: Records,
        now_ms: int,
        *,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> Appending[AppendInfo]:
        """As `append_own`, in turn; REQUEST_TIMED_OUT if too much of the broker's own waits for the disk already."""
        self._check_append(ACKS_ALL)
        work = self._own_append(now_ms, verification, transaction_version)
        return queue.put(work, batches, partial(self._appended, len(batches)), is_own=True)

    def is_committed(self, last_offset: int) -> bool:
        """Whether every in-sync replica has the record at this offset."""
        return self.log.high_watermark > last_offset

    def follower_fetched(self, replica_id: int, log_end_offset: int) -> None:
        """Takes note of how far a follower has come: its fetch offset says what it already holds."""
        if replica_id in self._follower_end_offsets:
            self._follower_end_offsets[replica_id] = log_end_offset
            self._advance_high_watermark()

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

    # -- waiting ------------------------------------------------------------------------------------------------------

    def watch(self, watcher: Watcher, *, is_committed_only: bool = False) -> None:
        """Calls `watcher` whenever a reader could be told something new, until `unwatch`.

        Who reads committed transactions only is not told of records before their transaction has ended.
        """
        (self._committed_watchers if is_committed_only else self._watchers)[watcher] = None

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        self._committed_watchers.pop(watcher, None)

    def wake(self, readable_bytes: int) -> None:
        """Tells everybody who waits that they may look again."""
        _tell(self._watchers, readable_bytes)
        _tell(self._committed_watchers, readable_bytes)

    def tell_log_start(self) -> None:
        """Tells everybody who waits if records were deleted, which the log does by itself and in any thread."""
        log_start_offset = self.log.log_start_offset
        if log_start_offset != self._told_log_start_offset:
            self._told_log_start_offset = log_start_offset
            self.wake(0)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _check_append(self, acks: int) -> None:
        if not self.is_leader:
            raise self.not_leader()
        if acks == ACKS_ALL:
            self._require_in_sync()

    def _own_append(
        self, now_ms: int, verification: VerificationGuard | None, transaction_version: int
    ) -> Callable[[Records], AppendInfo]:
        return partial(
            self.log.append_own_as_leader,
            leader_epoch=self.leader_epoch,
            now_ms=now_ms,
            verification=verification,
            transaction_version=transaction_version,
        )

    def _appended(self, size_bytes: int, info: AppendInfo) -> None:
        if not info.is_duplicate:
            # No further: the thread may have appended more, and the bytes of that are not counted yet.
            self._advance_high_watermark(size_bytes, info.last_offset + 1)

    def _begin_epoch(self, epoch: int) -> None:
        if self.queue is None:
            self.log.assign_leader_epoch(epoch)
        else:
            # After the appends of the epoch before, wherever they will have come to by then.
            self.queue.put(lambda _: self.log.assign_leader_epoch(epoch), b"", lambda _: None)

    def _require_in_sync(self) -> None:
        required = self.log.config.min_insync_replicas
        if len(self.in_sync_ids) < required:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.topic}-{self.index} has {len(self.in_sync_ids)} in-sync replicas and needs {required} "
                "(min.insync.replicas) for acks=all",
            )

    def _advance_high_watermark(self, appended_bytes: int = 0, end_offset: int | None = None) -> None:
        log = self.log
        least = log.log_end_offset if end_offset is None else end_offset
        for replica in self.in_sync_ids:
            if replica != self.broker_id:
                least = min(least, self._follower_end_offsets.get(replica, -1))
        self._uncommitted_bytes += appended_bytes
        if least > log.high_watermark:
            if log.producers.first_unstable_offset is not None:
                self._advance_around_transactions(least)
                return
            log.update_high_watermark(least)
            readable_bytes, self._uncommitted_bytes = self._uncommitted_bytes, 0
            if self._watchers or self._committed_watchers:
                # Never 0, which would mean that something else than data moved.
                self.wake(max(readable_bytes, 1))

    def _advance_around_transactions(self, high_watermark: int) -> None:
        """The same while transactions are open: committed readers are told when the last stable offset moves.

        They are told of all that follows it, which may be more than they may read: who finds too little waits again,
        until another transaction has ended.
        """
        log = self.log
        stable_before = log.last_stable_offset
        log.update_high_watermark(high_watermark)
        readable_bytes, self._uncommitted_bytes = self._uncommitted_bytes, 0
        _tell(self._watchers, max(readable_bytes, 1))
        if self._committed_watchers and log.last_stable_offset > stable_before:
            _tell(self._committed_watchers, max(log.bytes_from(stable_before), 1))


def _tell(watchers: dict[Watcher, None], readable_bytes: int) -> None:
    for watcher in tuple(watchers):
        watcher(readable_bytes)
