"""A coordinator's log: its internal topic as this broker's partitions hold it.

Where appends wait in a queue for their disk, their offsets are not known when they are put there. The coordinator gets
numbers in their place, and goes on: nobody is told of what it decided before it is in the log. If an append fails after
all (no space), the coordinator counted on what is not there. All that was put until then counts as lost, whatever
became of it, and the shard is loaded again from the log.

Batches of producers are another matter: the log may refuse one because its producer is fenced, or its transaction is
over, which is the client's doing and no reason to load anything. Such an append fails alone, and the coordinator is
told before it hears of anything later.
"""

import asyncio
from collections.abc import Callable, Iterator

from ottla.broker.coordinators.log import AppendLost
from ottla.broker.purgatory import wait_until_committed
from ottla.broker.replica_manager import ReplicaManager
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import Appending
from ottla.storage.errors import StorageError
from ottla.storage.log import AppendInfo
from ottla.storage.transaction_verification import VerificationGuard

_SETTLING_S = 60.0
# What the log thinks of a producer; a disk never says so.
_REFUSALS = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    }
)


class _QueuedAppends:
    """The appends of one partition that are on their way, by number."""

    def __init__(self) -> None:
        self._pending: dict[int, Appending[AppendInfo]] = {}
        # Those of producers: who is to hear that the log refused one, and which it did.
        self._refusable: dict[int, Callable[[int], None]] = {}
        self._refused: dict[int, ApiError] = {}
        self._last_number = -1
        self._last_offset = -1
        self._lost_up_to = -1
        self._failure: AppendLost

    def add(self, append: Appending[AppendInfo], on_refused: Callable[[int], None] | None = None) -> int:
        self._last_number += 1
        self._pending[self._last_number] = append
        if on_refused is not None:
            self._refusable[self._last_number] = on_refused
        return self._last_number

    async def wait(self, number: int, deadline: float) -> int:
        """Returns once an append and all before it are in the log, with the last offset of them or a later one."""
        last = self._pending.get(number)
        if last is not None:
            # Those before it are done before it is; thousands may wait, so each looks at its own alone until then.
            await _done(last, deadline)
        for earlier in [one for one in self._pending if one <= number]:
            append = self._pending.get(earlier)
            if append is not None:
                await self._wait_for(earlier, append, deadline)
        if number <= self._lost_up_to:
            # Anew: an error keeps the stack of everybody who raised it.
            raise AppendLost(self._failure.code, self._failure.message)
        if number in self._refused:
            raise self._refused.pop(number)
        return self._last_offset

    async def _wait_for(self, number: int, append: Appending[AppendInfo], deadline: float) -> None:
        try:
            info = await append.result(deadline)
        except ApiError as error:
            if error.code is ErrorCode.REQUEST_TIMED_OUT:
                raise
            if number in self._pending:
                self._failed(number, error)
            return
        self._pending.pop(number, None)
        self._refusable.pop(number, None)
        self._last_offset = max(self._last_offset, info.last_offset)

    def _failed(self, number: int, error: ApiError) -> None:
        on_refused = self._refusable.pop(number, None)
        if on_refused is not None and error.code in _REFUSALS:
            del self._pending[number]
            self._refused[number] = error
            on_refused(number)
            return
        self._lost_up_to = self._last_number
        self._failure = AppendLost(error.code, error.message)
        self._pending.clear()
        self._refusable.clear()
        self._refused.clear()


async def _done(append: Appending[AppendInfo], deadline: float) -> None:
    """Returns when the outcome is there, whatever it is; REQUEST_TIMED_OUT if that is not before the deadline."""
    try:
        await append.result(deadline)
    except ApiError as error:
        if error.code is ErrorCode.REQUEST_TIMED_OUT:
            raise


class PartitionCoordinatorLog:
    """Implements `CoordinatorLog`, and `OffsetsLog` of the groups, over the partitions of one internal topic."""

    def __init__(self, replicas: ReplicaManager, topic: str, commit_timeout_ms: int, load_buffer_bytes: int) -> None:
        """`load_buffer_bytes` are read at once when a partition is loaded, or one batch if that is larger."""
        self._replicas = replicas
        self._topic = topic
        self._commit_timeout_ms = commit_timeout_ms
        self._load_buffer_bytes = load_buffer_bytes
        self._loop = asyncio.get_running_loop()
        self._queued: dict[int, _QueuedAppends] = {}

    def append(self, partition: int, batch: bytes | bytearray) -> int:
        """Appends as the leader; returns the last offset, or the number of an append that waits for its turn."""
        led = self._replicas.partition(self._topic, partition)
        if led.queue is not None:
            append = led.queue_own(led.queue, batch, self._replicas.host.now_ms())
            return self._queued.setdefault(partition, _QueuedAppends()).add(append)
        try:
            return led.append_own(batch, self._replicas.host.now_ms()).last_offset
        except StorageError as error:
            raise self._replicas.disk_failed(error) from error

    def append_of_producer(
        self,
        partition: int,
        batch: bytes | bytearray,
        on_refused: Callable[[int], None],
        *,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> int:
        """As `append`, for a batch with a producer id; `on_refused` gets the number of one that is refused later."""
        led = self._replicas.partition(self._topic, partition)
        if led.queue is not None:
            append = led.queue_own(
                led.queue,
                batch,
                self._replicas.host.now_ms(),
                verification=verification,
                transaction_version=transaction_version,
            )
            return self._queued.setdefault(partition, _QueuedAppends()).add(append, on_refused)
        try:
            info = led.append_own(
                batch, self._replicas.host.now_ms(), verification=verification, transaction_version=transaction_version
            )
        except StorageError as error:
            raise self._replicas.disk_failed(error) from error
        return info.last_offset

    def is_committed(self, partition: int, offset: int) -> bool:
        """Whether every in-sync replica has the record, and the disk if flush.messages asks for it."""
        led = self._replicas.partition(self._topic, partition)
        return led.queue is None and led.is_committed(offset) and not led.log.must_flush_now

    async def wait_committed(self, partition: int, offset: int) -> None:
        """Returns once every in-sync replica has the record."""
        deadline = asyncio.get_running_loop().time() + self._commit_timeout_ms / 1000
        queued = self._queued.get(partition)
        if queued is not None:
            offset = await queued.wait(offset, deadline)
        led = self._replicas.partition(self._topic, partition)
        if led.log.must_flush_now:
            await self._replicas.flush(led, deadline)
        if not await wait_until_committed(led, offset, deadline):
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"{self._topic}-{partition} was not replicated in time")

    async def settled(self, partition: int) -> None:
        """Returns once no append is on its way."""
        queue = self._replicas.partition(self._topic, partition).queue
        if queue is None:
            return None
        while True:
            # Anew each time: one that found no place in the queue is dropped when it is given up.
            barrier = queue.put(lambda _: None, b"", lambda _: None)
            try:
                return await barrier.result(self._loop.time() + _SETTLING_S)
            except ApiError as error:
                if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                    raise

    def is_empty(self, partition: int) -> bool:
        """Whether there is nothing to load."""
        log = self._replicas.partition(self._topic, partition).log
        return log.log_start_offset == log.log_end_offset

    def read_batches(self, partition: int) -> Iterator[memoryview]:
        """Everything from the start of the log; called in a thread."""
        log = self._replicas.partition(self._topic, partition).log
        offset = log.log_start_offset
        end_offset = log.log_end_offset
        while offset < end_offset:
            try:
                read = log.read(
                    offset,
                    self._load_buffer_bytes,
                    max_offset_exclusive=end_offset,
                    min_one_batch=True,
                    allow_blocking=True,
                )
            except StorageError as error:
                self._loop.call_soon_threadsafe(self._replicas.disk_failed, error)
                raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
            if read.records:
                yield memoryview(read.records)
            assert read.next_offset > offset, f"{self._topic}-{partition}: no progress at offset {offset}"
            offset = read.next_offset
