"""The blocking producer: records cross to the loop's thread in bulk, because a thread switch for each is slow."""

import asyncio
import contextlib
import functools
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple

from ottla.client import producer as core
from ottla.client.blocking import LoopThread
from ottla.client.delivery import Delivery as CoreDelivery
from ottla.client.delivery import RecordMetadata
from ottla.client.errors import ClientError
from ottla.client.group_offsets import CommittedOffset, GroupMetadata
from ottla.client.record_types import check_record
from ottla.protocol.records import Headers
from ottla.protocol.topic_partition import TopicPartition

# Records that have not crossed yet; a caller that is quicker than the loop waits here.
HANDOVER_RECORDS_MAX = 10_000


class Delivery:
    """A record on its way."""

    __slots__ = ("_core", "_error", "_producer")

    def __init__(self, producer: "Producer") -> None:
        self._producer = producer
        self._core: CoreDelivery | None = None
        self._error: ClientError | None = None

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the record's place in the log; TimeoutError if that takes too long, ClientError if it failed."""
        return self._producer._thread.run(self._await(timeout_s))

    async def _await(self, timeout_s: float | None) -> RecordMetadata:
        async with asyncio.timeout(timeout_s):
            if self._core is None and self._error is None:
                await self._producer._await_crossing()
            if self._error is not None:
                raise self._error
            assert self._core is not None
            return await self._core


class _Handed(NamedTuple):
    delivery: Delivery
    topic: str
    value: bytes | None
    key: bytes | None
    partition: int | None
    timestamp_ms: int
    headers: Headers


class Producer:
    """A producer; `with` delivers everything before it ends. See `ottla.client.producer`."""

    def __init__(self, producer: core.Producer, thread: LoopThread) -> None:
        self._core = producer
        self._thread = thread
        self._handed: deque[_Handed] = deque()
        self._is_scheduled = False
        self._crossing: asyncio.Task[None] | None = None
        self._failure: ClientError | None = None

    def __enter__(self) -> "Producer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> Delivery:
        """Hand a record over without waiting; its delivery tells the outcome, and so does `flush`.

        A transactional producer accepts it only in a transaction that can still be committed.
        """
        check_record(key, value, headers, partition, timestamp_ms)
        self._core.check_sendable()
        delivery = Delivery(self)
        if timestamp_ms is None:
            timestamp_ms = self._core.time_ms()
        self._handed.append(_Handed(delivery, topic, value, key, partition, timestamp_ms, headers))
        # In this order: the loop clears the flag and then looks again, so no record is left behind.
        if not self._is_scheduled:
            self._is_scheduled = True
            self._thread.loop.call_soon_threadsafe(self._start_crossing)
        if len(self._handed) > HANDOVER_RECORDS_MAX:
            self._thread.run(self._await_crossing())
        return delivery

    def init_transactions(self) -> None:
        """Call this once, at first: it fences earlier producers with this id, and aborts what they left open."""
        self._thread.run(self._core.init_transactions())

    def begin_transaction(self) -> None:
        """Begin a transaction: what is sent from now on belongs to it. This sends no request."""
        self._thread.run(self._begin())

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int | CommittedOffset], group_metadata: GroupMetadata
    ) -> None:
        """Commit a group's offsets with the transaction: the next offsets to read, for `consumer.group_metadata()`."""
        self._thread.run(self._core.send_offsets_to_transaction(offsets, group_metadata))

    def commit_transaction(self) -> None:
        """Deliver everything and commit; after `CommitInDoubt` the outcome is unknown: call it again."""
        self._thread.run(self._end(self._core.commit_transaction))

    def abort_transaction(self) -> None:
        """Abort what was sent; after `RequestTimedOut` the outcome is unknown: call it again."""
        self._thread.run(self._end(self._core.abort_transaction))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block in a transaction: committed at its end, aborted if an exception leaves it.

        Waits for an earlier abort that was not answered.
        """
        self._thread.run(self._begin_block())
        try:
            yield
            self.commit_transaction()
        except BaseException as error:
            is_abandoned = self._thread.is_current()
            end = self._core.abandon_block if is_abandoned else functools.partial(self._core.abort_block, error)
            self._thread.finish(self._end(end))
            raise

    def flush(self) -> None:
        """Wait for everything sent so far; raises the first failure that was not awaited elsewhere."""
        self._thread.run(self._flush())

    def close(self) -> None:
        """Deliver everything, then stop."""
        self._thread.finish(self._close())

    def _start_crossing(self) -> None:
        if self._crossing is None or self._crossing.done():
            self._crossing = asyncio.create_task(self._cross(), name="hand records over")

    async def _cross(self) -> None:
        while True:
            while self._handed:
                delivery, topic, value, key, partition, timestamp_ms, headers = self._handed.popleft()
                try:
                    delivery._core = await self._core.send_checked(topic, value, key, partition, timestamp_ms, headers)
                except ClientError as error:
                    delivery._error = error
                    self._failure = self._failure or error
            self._is_scheduled = False
            if not self._handed:
                return
            self._is_scheduled = True

    async def _await_crossing(self) -> None:
        """Wait until what was handed over before has reached the core."""
        self._start_crossing()
        assert self._crossing is not None
        await asyncio.shield(self._crossing)

    async def _begin(self) -> None:
        # What another thread sent while the last transaction ended is refused: it belongs to no transaction.
        await self._await_crossing()
        self._core.begin_transaction()

    async def _begin_block(self) -> None:
        await self._await_crossing()
        await self._core.begin_block()

    async def _end(self, end: Callable[[], Awaitable[None]]) -> None:
        """End a transaction with all that was handed over; a record that was refused has failed it already."""
        await self._await_crossing()
        self._failure = None
        await end()

    async def _flush(self) -> None:
        await self._await_crossing()
        failure, self._failure = self._failure, None
        await self._core.flush()
        if failure is not None:
            raise failure

    async def _close(self) -> None:
        try:
            await self._flush()
        finally:
            await self._core.close()
