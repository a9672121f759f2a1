"""What a shard has written and is not committed yet.

A shard counts on what it decided as soon as the log has taken it, or the queue of a disk has, and goes on deciding.
Nobody is told before it is committed.

Guarantees
- Writes take effect in the order of the log (`on_committed`), each once, each when the watermark has passed it in the
  leader epoch in which the shard was loaded. What commits at once takes effect at once.
- After `close` nothing takes effect, and nobody who waits hears of success: another shard, here or elsewhere, may have
  decided otherwise.
- The log may refuse a write that waited for its disk: the disk is full, or the producer is fenced. If the shard can
  take the write back (`on_refused`), it does so before anything later takes effect, and no other write fails. If it
  cannot, its state includes a record that the log does not have: every uncommitted write fails, and the shard is loaded
  again. Kafka reverts its state to the snapshot before the write and never reloads. Here a group's metadata cannot be
  taken back, because the members may have acted on it.
- A client that waits longer than the commit timeout hears COORDINATOR_NOT_AVAILABLE. The write goes on without it, as
  it does when the client goes away. A task of the shard itself waits for the write until its fate is known
  (`Write.wait`): the log may still refuse it.

Nothing here survives a crash: the next shard reads the log.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from ottla.broker.coordinators.client_errors import coordinator_error
from ottla.broker.coordinators.partition_log import CoordinatorLog
from ottla.broker.tasks import Tasks
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import AppendOutcome
from ottla.storage.log import AppendInfo
from ottla.storage.transaction_verification import VerificationGuard

logger = logging.getLogger(__name__)

# How long one wait for a queued append lasts; then the next begins. While we lead, its turn will come.
_APPEND_PATIENCE_S = 60.0


class Write:
    """One batch of a shard; its number grows as offsets do, and is known before the offset is."""

    __slots__ = ("_waiters", "error", "is_committed", "number", "on_committed", "on_refused", "outcome")

    def __init__(
        self,
        number: int,
        outcome: AppendOutcome,
        on_committed: Callable[[int], None],
        on_refused: Callable[[int], None] | None,
    ) -> None:
        self.number = number
        self.outcome = outcome
        self.on_committed = on_committed
        self.on_refused = on_refused
        self.is_committed = False
        self.error: ApiError | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def succeed(self) -> None:
        """The write is committed."""
        self.is_committed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def fail(self, error: ApiError) -> None:
        """The write will not be committed, as far as this shard is concerned."""
        self.error = error
        for waiter in self._waiters:
            if not waiter.done():
                # One for each: an error keeps the stack of whoever raised it.
                waiter.set_exception(ApiError(error.code, error.message))

    async def wait(self, timeout_s: float | None = None) -> None:
        """Returns once the write is committed; ApiError if it fails, TimeoutError if neither is known in time."""
        if self.error is not None:
            raise ApiError(self.error.code, self.error.message)
        if self.is_committed:
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        timer = None if timeout_s is None else loop.call_later(timeout_s, _give_up, waiter)
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()
            self._waiters.remove(waiter)


def _give_up(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_exception(TimeoutError())


class ShardWrites:
    """The writes of one shard in one leader epoch."""

    def __init__(
        self,
        log: CoordinatorLog,
        topic: str,
        partition: int,
        leader_epoch: int,
        tasks: Tasks,
        commit_timeout_ms: int,
        on_lost: Callable[[], None],
    ) -> None:
        """`on_lost` is called when the shard has counted on what the log will never have."""
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.is_closed = False
        self._log = log
        self._topic = topic
        self._tasks = tasks
        self._commit_timeout_ms = commit_timeout_ms
        self._on_lost = on_lost
        self._in_flight: deque[Write] = deque()
        self._next_number = 0
        self._following: asyncio.Task[None] | None = None

    def append(
        self,
        batch: bytes | bytearray,
        on_committed: Callable[[int], None],
        *,
        on_refused: Callable[[int], None] | None = None,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> Write:
        """Appends a batch; the log's own ApiError if it is refused. `commit_ready` is to follow.

        Both callbacks get the number of the write. `on_refused` lets the shard take back what the log does not take.
        """
        if self.is_closed:
            raise self._closed_error(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        outcome = self._log.append(
            self.partition,
            batch,
            leader_epoch=self.leader_epoch,
            verification=verification,
            transaction_version=transaction_version,
        )
        write = Write(self._next_number, outcome, on_committed, on_refused)
        self._next_number += 1
        self._in_flight.append(write)
        return write

    def commit_ready(self) -> None:
        """Lets all writes take effect that are committed; the others follow in the background."""
        while self._in_flight and not self.is_closed:
            write = self._in_flight[0]
            info = write.outcome
            if not isinstance(info, AppendInfo) or not self._log.is_committed(self.partition, info):
                break
            self._take_effect(write)
        if self._in_flight and self._following is None and not self.is_closed:
            name = f"commits of {self._topic}-{self.partition}"
            self._following = self._tasks.start_background(name, self._follow())

    async def wait(self, write: Write) -> None:
        """Returns once a write has taken effect; ApiError in a coordinator's words if not, or not in time."""
        try:
            await write.wait(self._commit_timeout_ms / 1000)
        except TimeoutError as error:
            message = f"{self._topic}-{self.partition} did not commit within {self._commit_timeout_ms} ms"
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message) from error

    def close(self) -> None:
        """Leadership is gone, or the shard is loaded again: whoever waits hears so."""
        self.is_closed = True
        if self._following is not None and self._following is not asyncio.current_task():
            self._following.cancel()
        lost, self._in_flight = self._in_flight, deque()
        for write in lost:
            write.fail(self._closed_error(ErrorCode.NOT_COORDINATOR))

    def _closed_error(self, code: ErrorCode) -> ApiError:
        return ApiError(code, f"{self._topic}-{self.partition} is not served here any more")

    def _take_effect(self, write: Write) -> None:
        self._in_flight.popleft()
        write.on_committed(write.number)
        write.succeed()

    def _take_effect_in_background(self, write: Write) -> None:
        try:
            self._take_effect(write)
        except Exception:
            # Whatever it is, the writes after it must not wait for ever.
            logger.exception("%s-%d: a write that was committed has failed", self._topic, self.partition)
            write.fail(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "The log of the node has the reason"))

    async def _follow(self) -> None:
        try:
            while self._in_flight and not self.is_closed:
                write = self._in_flight[0]
                try:
                    await self._wait_for(write)
                except ApiError as error:
                    if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                        await self._failed(write, error)
                    continue
                # Unless somebody who wrote meanwhile has seen it first.
                if self._in_flight and self._in_flight[0] is write:
                    self._take_effect_in_background(write)
        finally:
            self._following = None

    async def _wait_for(self, write: Write) -> None:
        if not isinstance(write.outcome, AppendInfo):
            deadline = asyncio.get_running_loop().time() + _APPEND_PATIENCE_S
            write.outcome = await write.outcome.result(deadline)
        await self._log.wait_committed(self.partition, write.outcome)

    async def _failed(self, write: Write, error: ApiError) -> None:
        # A log that moves to another directory is out of service for a moment, but its epoch goes on, and the shard
        # with it: whether the shard has to answer for the write is known after the move.
        is_led = await self._log.is_still_led(self.partition, self.leader_epoch)
        if self.is_closed or not self._in_flight or self._in_flight[0] is not write:
            # Somebody who wrote meanwhile may have seen that it is committed after all.
            return
        is_in_log = isinstance(write.outcome, AppendInfo)
        if write.on_refused is not None and is_led and not is_in_log:
            self._in_flight.popleft()
            write.on_refused(write.number)
            write.fail(coordinator_error(error))
            return
        lost, self._in_flight = self._in_flight, deque()
        logger.info("%s-%d: %d writes were not committed: %s", self._topic, self.partition, len(lost), error)
        if is_led:
            self._on_lost()
        for one in lost:
            one.fail(coordinator_error(error))
