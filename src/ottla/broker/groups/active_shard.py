"""One shard at work: its state machine, tied to the partition's log, the clock and the event loop.

After every call into the state machine its effects are carried out: parked requests are answered through their
futures, records are appended. What is not committed at once (a cluster) is awaited in the background, and takes effect
in log order. A single loop timer per shard serves all deadlines.

A write that fails to commit because leadership is lost needs no undoing: the shard is thrown away with its leadership.
Nor does one that had to wait for its disk and was refused: then the shard is thrown away and loaded again. Only what a
transactional producer writes may fail alone (see `offsets_log`).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ottla.broker.coordinators.log import AppendLost, coordinator_error, wait_while_led
from ottla.broker.groups.offsets_log import OffsetsLog
from ottla.broker.groups.record_batches import encode_batch, encode_transactional_batch
from ottla.broker.tasks import Tasks
from ottla.coordinator.group.effects import Outcome, Respond
from ottla.coordinator.group.records import GroupCoordinatorRecord
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.transaction_verification import VerificationGuard

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_PAUSE_S = 1.0


class ActiveShard:
    """A loaded shard. Not used any more after `close`."""

    def __init__(
        self,
        partition: int,
        shard: GroupShard,
        log: OffsetsLog,
        tasks: Tasks,
        clock: Callable[[], int],
        commit_timeout_ms: int,
        codec: Codec,
        on_lost: Callable[[], None],
    ) -> None:
        """`on_lost` is called when the state here is ahead of what the log will ever have."""
        self.shard = shard
        self._partition = partition
        self._log = log
        self._tasks = tasks
        self._clock = clock
        self._commit_timeout_ms = commit_timeout_ms
        self._codec = codec
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_closed = False

    def settle(self) -> int | None:
        """Carry out what the state machine decided; returns the last offset written, if that is not committed yet."""
        shard = self.shard
        uncommitted: int | None = None
        while shard.effects:
            for effect in shard.effects.take():
                if isinstance(effect, Respond):
                    _answer(effect.token, effect.response)
                    continue
                offset = self._write(effect.records, effect.outcome)
                if offset is not None:
                    uncommitted = offset
        self.schedule()
        return uncommitted

    def append(self, records: Sequence[GroupCoordinatorRecord]) -> int | None:
        """Append an operation's records as one batch; returns their offset if it is not committed yet."""
        if not records:
            return None
        now_ms = self._clock()
        try:
            offset = self._log.append(self._partition, encode_batch(records, now_ms, self._codec))
        except ApiError as error:
            raise ApiError(coordinator_error(error.code), error.message) from error
        self.shard.appended(records, None, offset, now_ms)
        self.schedule()
        return None if self._commit_now(offset) else offset

    def append_in_transaction(
        self,
        records: Sequence[GroupCoordinatorRecord],
        producer_id: int,
        producer_epoch: int,
        verification: VerificationGuard | None,
    ) -> int | None:
        """As `append`, as part of a producer's transaction."""
        if not records:
            return None
        now_ms = self._clock()
        batch = encode_transactional_batch(records, now_ms, producer_id, producer_epoch, self._codec)
        try:
            offset = self._log.append_of_producer(self._partition, batch, self._refused, verification=verification)
        except ApiError as error:
            raise ApiError(coordinator_error(error.code), error.message) from error
        self.shard.appended(records, None, offset, now_ms, producer_id)
        return None if self._commit_now(offset) else offset

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> int | None:
        """End a producer's transaction here; returns the marker's offset if it is not committed yet."""
        batch = end_txn_batch(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=self._clock(),
        )
        offset = self._log.append_of_producer(
            self._partition, batch, self._refused, transaction_version=transaction_version
        )
        self.shard.marker_appended(producer_id, offset, is_commit=is_commit)
        return None if self._commit_now(offset) else offset

    async def respond_when_committed(self, offset: int, response: T) -> T:
        """The response, once everything up to the offset is committed."""
        try:
            async with asyncio.timeout(self._commit_timeout_ms / 1000):
                await self._log.wait_committed(self._partition, offset)
        except TimeoutError:
            self._watch(offset)
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"the offsets topic did not commit within offsets.commit.timeout.ms ({self._commit_timeout_ms} ms)",
            ) from None
        except asyncio.CancelledError:
            # The client is gone; its write is not.
            self._watch(offset)
            raise
        except ApiError as error:
            if error.code is ErrorCode.REQUEST_TIMED_OUT:
                self._watch(offset)
            self._note_lost(error)
            raise ApiError(coordinator_error(error.code), error.message) from error
        self._committed(offset)
        return response

    async def clean(self, portions: Iterable[Sequence[GroupCoordinatorRecord]]) -> None:
        """Write tombstones that nobody waits for.

        A portion that the log refuses does not keep the others from being written. Its offsets stay until a cleaning of
        those that have expired finds them.
        """
        refused = 0
        for records in portions:
            if self._is_closed:
                return
            try:
                offset = self.append(records)
            except ApiError as error:
                refused += len(records)
                reason = str(error)
            else:
                if offset is not None:
                    self._watch(offset)
            # There may be a million of them: the loop serves requests in between.
            await asyncio.sleep(0)
        if refused:
            logger.warning(
                "__consumer_offsets-%d refused %d tombstones of offsets or groups: %s", self._partition, refused, reason
            )

    def close(self) -> None:
        """Leadership is gone: parked requests are sent to the new coordinator."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.shard.unload()
        for effect in self.shard.effects.take():
            if isinstance(effect, Respond):
                _answer(effect.token, effect.response)

    def _write(self, records: Sequence[GroupCoordinatorRecord], outcome: Outcome) -> int | None:
        now_ms = self._clock()
        try:
            offset = self._log.append(self._partition, encode_batch(records, now_ms, self._codec))
        except ApiError as error:
            logger.warning("__consumer_offsets-%d refused a group's metadata: %s", self._partition, error)
            self.shard.append_failed(outcome, coordinator_error(error.code), now_ms)
            return None
        self.shard.appended(records, outcome, offset, now_ms)
        if self._commit_now(offset):
            return None
        self._watch(offset)
        return offset

    def _commit_now(self, offset: int) -> bool:
        if not self._log.is_committed(self._partition, offset):
            return False
        self.shard.committed(offset, self._clock())
        return True

    def _committed(self, offset: int) -> None:
        if not self._is_closed:
            self.shard.committed(offset, self._clock())
            self.settle()

    def _watch(self, offset: int) -> None:
        """Let the write take effect when it commits, though no request waits for it."""
        if not self._is_closed:
            self._tasks.start_background(f"commit of offset {offset}", self._await_commit(offset))

    async def _await_commit(self, offset: int) -> None:
        try:
            await wait_while_led(self._log, self._partition, offset, lambda: self._is_closed)
        except ApiError as error:
            logger.info("__consumer_offsets-%d: offset %d was not committed: %s", self._partition, offset, error)
            self._note_lost(error)
        else:
            self._committed(offset)

    def _refused(self, offset: int) -> None:
        if not self._is_closed:
            self.shard.refused(offset)

    def _note_lost(self, error: ApiError) -> None:
        if isinstance(error, AppendLost) and not self._is_closed:
            self._on_lost()

    def schedule(self) -> None:
        """Make sure that the loop calls in time for the next deadline."""
        next_ms = self.shard.timers.next_check_ms
        if next_ms is None or self._is_closed or (self._timer is not None and self._timer_ms <= next_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = next_ms
        self._timer = self._loop.call_later(max(next_ms - self._clock(), 0) / 1000, self._tick)

    def _tick(self) -> None:
        self._timer = None
        try:
            self.shard.tick(self._clock())
            self.settle()
        except Exception:
            # Members must still expire when whatever it is has passed; at once would be again and again.
            logger.exception("Deadlines of __consumer_offsets-%d are not kept; tried again", self._partition)
            if self._timer is None:
                self._timer_ms = self._clock() + int(_RETRY_PAUSE_S * 1000)
                self._timer = self._loop.call_later(_RETRY_PAUSE_S, self._tick)


def _answer(token: object, response: object) -> None:
    assert isinstance(token, asyncio.Future), "this shell parks requests as futures"
    if not token.done():
        token.set_result(response)
