"""A producer: records in, batches out, each record acknowledged once.

Records gather per partition and leave when a batch is full or old enough (linger); one request carries one batch for
each partition of a broker. The parts have Kafka's names: the `RecordAccumulator` keeps what waits, the `Sender` moves
it, the `TransactionManager` orders both around the ends of transactions, and `producer_queue.py` keeps order and
idempotence. This module chooses partitions and has the calls.

With idempotence (the default) a record is written once, in order, whatever happens to connections on the way; without
it a retry may write twice. What is not acknowledged within the delivery timeout fails. Nothing outlives the process:
records that were not acknowledged before a crash of the client may or may not have been written.

With a transactional id, what is sent between `begin_transaction` and `commit_transaction` is seen by read_committed
consumers as a whole or not at all, offsets of a group included: `transaction_owner.py` speaks with the coordinators.
A record that cannot be written fails its transaction. Closing aborts what is open.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from types import TracebackType

from ottla.client.cluster import Cluster
from ottla.client.delivery import Delivery, OpenBatch
from ottla.client.errors import ClientClosed, ClientError, KafkaError, WrongOrder
from ottla.client.group_offsets import CommittedOffset, GroupMetadata
from ottla.client.metadata import NO_NODE, TopicInfo
from ottla.client.partitioner import StickyPartitioner, partition_for_key
from ottla.client.producer_settings import ProducerSettings
from ottla.client.record_accumulator import RecordAccumulator
from ottla.client.record_types import check_record
from ottla.client.sender import Sender
from ottla.client.transaction_manager import TransactionManager
from ottla.client.transaction_owner import TransactionOwner
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import HEADER_BYTES
from ottla.protocol.records import Headers, record_size_bound
from ottla.protocol.topic_partition import TopicPartition

_NO_TRANSACTION = 0


class Producer:
    """See the module. `async with` starts it, and delivers everything before it ends."""

    def __init__(self, cluster: Cluster, settings: ProducerSettings | None = None) -> None:
        self.settings = settings or ProducerSettings()
        # The clock that stamps records which come without a time.
        self.time_ms = cluster.machine.time_ms
        self._cluster = cluster
        self._sticky = StickyPartitioner(self.settings.batch_bytes, cluster.machine.number_below)
        self._accumulator = RecordAccumulator(cluster, self.settings, self._record_failed)
        self._transactions = _transaction_manager(cluster, self.settings, self._accumulator)
        self._sender = Sender(cluster, self.settings, self._accumulator, self._transactions)
        self._failure: ClientError | None = None
        self._is_closed = False

    async def __aenter__(self) -> "Producer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Records.

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> Delivery:
        """Hand a record over; waits only while the buffer is full or the topic is not known yet."""
        check_record(key, value, headers, partition, timestamp_ms)
        return await self.send_checked(topic, value, key, partition, timestamp_ms, headers)

    async def send_checked(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Headers,
    ) -> Delivery:
        """As `send`, for callers that have already called `check_record`."""
        self.check_sendable()
        if self._transactions is None:
            return await self._accept(topic, value, key, partition, timestamp_ms, headers)
        try:
            return await self._accept(topic, value, key, partition, timestamp_ms, headers)
        except WrongOrder:
            raise
        except ClientError as error:
            # The transaction would be committed without this record.
            self._transactions.fail(error)
            raise

    def check_sendable(self) -> None:
        """Raise the reason why no record can be accepted now: the producer has ended, or no transaction is open."""
        if self._is_closed:
            raise ClientClosed("the producer was closed")
        if self._transactions is not None:
            self._transactions.owner.state.check_open("send")

    async def flush(self) -> None:
        """Send what is waiting and wait for all of it; raises the first failure that was not awaited elsewhere."""
        await self._accumulator.drain()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """Deliver everything, then stop; an open transaction is aborted."""
        if self._is_closed:
            return
        try:
            if self._transactions is None:
                await self.flush()
            else:
                with contextlib.suppress(ClientError):
                    await self._transactions.abort_if_open()
        finally:
            self._is_closed = True
            tasks = self._sender.cancel()
            if self._transactions is not None:
                tasks += self._transactions.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._accumulator.fail_all(ClientClosed("the producer was closed before the record was delivered"))

    async def _accept(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Headers,
    ) -> Delivery:
        size_bound = record_size_bound(key, value, headers)
        if size_bound + HEADER_BYTES > self.settings.request_bytes_max:
            limit = self.settings.request_bytes_max
            text = f"a record of {size_bound} bytes is more than request_bytes_max={limit} (max.request.size) allows"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text)
        known = self._cluster.metadata.topics.get(topic)
        if known is None or known.error is not None:
            known = await self._await_topic(topic)
        if self._accumulator.buffered_bytes + size_bound > self.settings.buffer_bytes:
            await self._accumulator.await_space(size_bound)
        if partition is None:
            partition = self._choose_partition(known, key, size_bound)
        elif partition not in known.partitions:
            count = len(known.partitions)
            text = f"topic {topic!r} has no partition {partition}: it has {count}, from 0"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        if timestamp_ms is None:
            timestamp_ms = self.time_ms()
        transaction = _NO_TRANSACTION
        if self._transactions is not None:
            # Check again: it may have ended while the buffer was full.
            state = self._transactions.owner.state
            state.check_open("send")
            transaction = state.number
        delivery = self._accumulator.append(
            TopicPartition(topic, partition),
            timestamp_ms,
            key,
            value,
            headers,
            size_bound=size_bound,
            transaction=transaction,
        )
        if delivery.number == 0:
            self._sender.start()
        return delivery

    async def _await_topic(self, topic: str) -> TopicInfo:
        async def look() -> TopicInfo:
            return await self._cluster.topic(topic, auto_create=self.settings.auto_create_topics)

        return await self._cluster.retry(look, what=f"finding topic {topic!r}", timeout_ms=self.settings.max_block_ms)

    def _choose_partition(self, topic: TopicInfo, key: bytes | None, size_bytes: int) -> int:
        if key is not None:
            return partition_for_key(key, len(topic.partitions))
        led = [number for number, info in topic.partitions.items() if info.leader_id != NO_NODE]
        return self._sticky.partition(topic.name, size_bytes, led or list(topic.partitions))

    def _record_failed(self, batch: OpenBatch, error: ClientError) -> None:
        if self._transactions is not None:
            if batch.transaction == self._transactions.owner.state.number:
                self._transactions.fail(error)
        elif not batch.is_observed and self._failure is None:
            self._failure = error

    # Transactions, in Kafka's names.

    async def init_transactions(self) -> None:
        """Call this once, at first: it fences earlier producers with this id, and aborts what they left open."""
        await self._transactional("init_transactions").owner.init()

    def begin_transaction(self) -> None:
        """Begin a transaction: what is sent from now on belongs to it. This sends no request."""
        self._transactional("begin_transaction").owner.begin()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int | CommittedOffset], group_metadata: GroupMetadata
    ) -> None:
        """Commit a group's offsets with the transaction: the next offsets to read, for `consumer.group_metadata()`."""
        await self._transactional("send_offsets_to_transaction").owner.send_offsets(offsets, group_metadata)

    async def commit_transaction(self) -> None:
        """Deliver everything and commit; after `CommitInDoubt` the outcome is unknown: call it again.

        After an `AbortableError` nothing is committed: call `abort_transaction`.
        """
        await self._transactional("commit_transaction").commit()

    async def abort_transaction(self) -> None:
        """Drop what was not sent, and abort what was; after `RequestTimedOut` the outcome is unknown: call it again."""
        await self._transactional("abort_transaction").abort()

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Run a block in a transaction: committed at its end, aborted if an exception leaves it.

        Waits for an earlier abort that was not answered.
        """
        await self.begin_block()
        try:
            yield
            await self.commit_transaction()
        except BaseException as error:
            await self.abort_block(error)
            raise

    async def begin_block(self) -> None:
        """Begin the block of `transaction`."""
        await self._transactional("transaction").begin_block()

    async def abort_block(self, error: BaseException) -> None:
        """End the block of `transaction` after an error."""
        await self._transactional("transaction").abort_block(error)

    async def abandon_block(self) -> None:
        """End the block of `transaction` where nothing can be awaited."""
        self._transactional("transaction").abandon_block()

    def _transactional(self, call: str) -> TransactionManager:
        if self._is_closed:
            raise ClientClosed("the producer was closed")
        if self._transactions is None:
            raise WrongOrder(f"{call} needs a transactional producer: make it with a transactional_id")
        return self._transactions


def _transaction_manager(
    cluster: Cluster, settings: ProducerSettings, accumulator: RecordAccumulator
) -> TransactionManager | None:
    if settings.transactional_id is None:
        return None
    owner = TransactionOwner(
        cluster,
        settings.transactional_id,
        transaction_timeout_ms=settings.transaction_timeout_ms,
        max_block_ms=settings.max_block_ms,
    )
    return TransactionManager(cluster, owner, accumulator, settings.max_block_ms)
