"""A producer: records in, batches out, each record acknowledged once.

Records gather per partition and leave when a batch is full or old enough (linger); one request carries one batch for
each partition of a broker. `producer_queue.py` keeps order and idempotence, this module moves the bytes.

With idempotence (the default) a record is written once, in order, whatever happens to connections on the way; without
it a retry may write twice. What is not acknowledged within the delivery timeout fails. Nothing outlives the process:
records that were not acknowledged before a crash of the client may or may not have been written.

With a transactional id, what is sent between `begin_transaction` and `commit_transaction` is seen by read_committed
consumers as a whole or not at all, offsets of a group included: `transaction_owner.py` speaks with the coordinators.
A record that cannot be written fails its transaction. Closing aborts what is open.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from types import TracebackType

from ottla.client.batch_writer import BatchWriter, record_size_bound
from ottla.client.cluster import Cluster
from ottla.client.delivery import Delivery, OpenBatch
from ottla.client.errors import ClientClosed, ClientError, KafkaError, RequestTimedOut, WrongOrder
from ottla.client.metadata import NO_NODE, TopicInfo, TopicPartition
from ottla.client.partitioner import StickyPartitioner, partition_for_key
from ottla.client.produce_request import produce
from ottla.client.producer_ids import ProducerIdentity, check_transaction_timeout, init_producer_id
from ottla.client.producer_queue import Outcome, PartitionQueue, ProducerBatch
from ottla.client.producer_transactions import ProducerTransactions
from ottla.client.record_types import check_record
from ottla.client.retries import RetryPolicy
from ottla.client.transaction_owner import TransactionOwner
from ottla.client.transaction_requests import QUICK_RETRY
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import HEADER_BYTES
from ottla.protocol.records import Headers

# Requests without an answer, per broker. Brokers recognise the last five batches of a producer.
IN_FLIGHT_REQUESTS_MAX = 5

_TRANSACTION_ENDING = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS})


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How a producer works; the names in comments are Kafka's, and so are the defaults."""

    acks: int = -1
    codec: Codec = Codec.NONE  # compression.type
    compression_level: int | None = None
    idempotent: bool = True  # enable.idempotence
    linger_ms: float = 5
    batch_bytes: int = 16_384  # batch.size
    request_bytes_max: int = 1_048_576  # max.request.size
    buffer_bytes: int = 33_554_432  # buffer.memory
    max_block_ms: float = 60_000
    delivery_timeout_ms: float = 120_000
    auto_create_topics: bool = True
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.acks not in (-1, 0, 1):
            raise ValueError(f"acks={self.acks}: it is -1 (all replicas in sync), 1 (the leader) or 0 (nobody)")
        if self.idempotent and self.acks != -1:
            raise ValueError(f"an idempotent producer needs acks=-1, not {self.acks}: set idempotent=False as well")
        if not isinstance(self.codec, Codec):
            raise TypeError(f"codec={self.codec!r}: write one of {', '.join(f'Codec.{codec.name}' for codec in Codec)}")
        if self.linger_ms < 0:
            raise ValueError(f"linger_ms={self.linger_ms}: a wait cannot be shorter than 0")
        if self.transactional_id is not None and not self.idempotent:
            raise ValueError("a transactional producer is idempotent: leave idempotent=True")
        check_transaction_timeout(self.transaction_timeout_ms)


class Producer(ProducerTransactions):
    """See the module. `async with` starts it, and delivers everything before it ends."""

    def __init__(self, cluster: Cluster, settings: ProducerSettings | None = None) -> None:
        self.settings = settings or ProducerSettings()
        # The clock that stamps records which come without a time.
        self.time_ms = cluster.machine.time_ms
        super().__init__(cluster, _owner(cluster, self.settings), self.settings.max_block_ms)
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._sticky = StickyPartitioner(self.settings.batch_bytes, cluster.machine.number_below)
        self._identity: ProducerIdentity | None = None
        self._in_flight: dict[int, int] = {}
        # A dict, because requests are ended in this order: a set would go by their addresses.
        self._requests: dict[asyncio.Task[None], None] = {}
        self._buffered_bytes = 0
        self._refresh_at_s = cluster.now_s() + cluster.settings.metadata_max_age_ms / 1000
        self._has_space = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self._failure: ClientError | None = None

    async def __aenter__(self) -> "Producer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

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
        """As `send`, for whoever has called `check_record` already."""
        self.check_sendable()
        if self._owner is None:
            return await self._accept(topic, value, key, partition, timestamp_ms, headers)
        try:
            return await self._accept(topic, value, key, partition, timestamp_ms, headers)
        except WrongOrder:
            raise
        except ClientError as error:
            # The transaction would be committed without this record.
            self._transaction_failed(error)
            raise

    def check_sendable(self) -> None:
        """Raise what keeps a record from being taken now: the producer's end, or that no transaction is open."""
        if self._is_closed:
            raise ClientClosed("the producer was closed")
        if self._owner is not None:
            self._owner.state.check_open("send")

    async def _accept(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int | None,
        timestamp_ms: int | None,
        headers: Headers,
    ) -> Delivery:
        size = record_size_bound(key, value, headers)
        if size + HEADER_BYTES > self.settings.request_bytes_max:
            limit = self.settings.request_bytes_max
            text = f"a record of {size} bytes is more than request_bytes_max={limit} (max.request.size) allows"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, text)
        known = self._cluster.metadata.topics.get(topic)
        if known is None or known.error is not None:
            known = await self._await_topic(topic)
        if self._buffered_bytes + size > self.settings.buffer_bytes:
            await self._await_space(size)
        if partition is None:
            partition = self._choose_partition(known, key, size)
        elif partition not in known.partitions:
            count = len(known.partitions)
            text = f"topic {topic!r} has no partition {partition}: it has {count}, from 0"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        if timestamp_ms is None:
            timestamp_ms = self.time_ms()
        if self._owner is not None:
            self._owner.state.check_open("send")
        return self._append(TopicPartition(topic, partition), timestamp_ms, key, value, headers, size)

    async def flush(self) -> None:
        """Send what is waiting and wait for all of it; raises the first failure that nobody else has waited for."""
        await self._drain()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def _drain(self) -> None:
        """Send what is waiting, and wait until all of it is settled."""
        batches = []
        for queue in self._queues.values():
            for batch in (*queue.in_flight, *queue.waiting):
                batch.is_sealed = True
                if isinstance(batch, OpenBatch):
                    batches.append(batch.outcome)
        self._has_work.set()
        if batches:
            await asyncio.wait(batches)

    async def close(self) -> None:
        """Deliver everything, then stop; an open transaction is aborted."""
        if self._is_closed:
            return
        try:
            if self._owner is None:
                await self.flush()
            else:
                with contextlib.suppress(ClientError):
                    await self._abort_if_open()
        finally:
            self._is_closed = True
            tasks = [task for task in (self._sender, self._adding, self._aborting, *self._requests) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._fail_all(ClientClosed("the producer was closed before the record was delivered"))

    async def _await_topic(self, topic: str) -> TopicInfo:
        async def look() -> TopicInfo:
            return await self._cluster.topic(topic, auto_create=self.settings.auto_create_topics)

        return await self._cluster.retry(look, what=f"finding topic {topic!r}", timeout_ms=self.settings.max_block_ms)

    async def _await_space(self, size: int) -> None:
        try:
            async with asyncio.timeout(self.settings.max_block_ms / 1000):
                while self._buffered_bytes + size > self.settings.buffer_bytes:
                    self._has_space.clear()
                    self._has_work.set()
                    await self._has_space.wait()
        except TimeoutError:
            text = f"the buffer of {self.settings.buffer_bytes} bytes stayed full for {self.settings.max_block_ms:g} ms"
            raise RequestTimedOut(f"{text}: brokers take less than is produced, or cannot be reached") from None

    def _choose_partition(self, topic: TopicInfo, key: bytes | None, size: int) -> int:
        if key is not None:
            return partition_for_key(key, len(topic.partitions))
        led = [number for number, info in topic.partitions.items() if info.leader_id != NO_NODE]
        return self._sticky.partition(topic.name, size, led or list(topic.partitions))

    def _append(
        self,
        partition: TopicPartition,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        size: int,
    ) -> Delivery:
        queue = self._queues.get(partition)
        if queue is None:
            settings = self.settings
            queue = PartitionQueue(partition, is_idempotent=settings.idempotent, linger_s=settings.linger_ms / 1000)
            self._queues[partition] = queue
        batch = queue.open_batch()
        if batch is None or batch.writer.size_bytes + size > self.settings.batch_bytes:
            writer = BatchWriter(self.settings.codec, self.settings.compression_level)
            batch = OpenBatch(partition, writer, self._cluster.now_s())
            batch.transaction = 0 if self._owner is None else self._owner.state.number
            batch.outcome.add_done_callback(lambda _: self._settled(batch))
            queue.add(batch)
            self._wake_sender()
        assert isinstance(batch, OpenBatch)
        before = batch.writer.size_bytes
        number = batch.writer.append(timestamp_ms, key, value, headers)
        self._buffered_bytes += batch.writer.size_bytes - before
        if batch.writer.size_bytes >= self.settings.batch_bytes:
            batch.is_sealed = True
            self._has_work.set()
        return Delivery(batch, number, timestamp_ms)

    def _settled(self, batch: "OpenBatch") -> None:
        self._buffered_bytes -= batch.writer.size_bytes - HEADER_BYTES
        self._has_space.set()
        self._has_work.set()
        error = batch.outcome.result().error
        if error is None:
            return
        if self._owner is not None:
            if batch.transaction == self._owner.state.number:
                self._transaction_failed(error)
        elif not batch.is_observed and self._failure is None:
            self._failure = error

    # The sender.

    def _drop_waiting(self, error: ClientError) -> None:
        for queue in self._queues.values():
            queue.fail_waiting(error)

    def _restart_sequences(self) -> None:
        for queue in self._queues.values():
            queue.restart()

    def _wake_sender(self) -> None:
        self._has_work.set()
        if self._sender is None:
            self._sender = self._cluster.in_background(self._send_forever(), "producer")
            self._sender.add_done_callback(self._sender_ended)

    def _sender_ended(self, sender: asyncio.Task[None]) -> None:
        """Whoever waits for a record learns it, whatever it was."""
        self._sender = None
        if sender.cancelled():
            self._fail_all(ClientClosed("the client was closed before the record was delivered"))
        elif (error := sender.exception()) is not None:
            self._fail_all(ClientError(f"the producer failed: {error!r}"))

    def _fail_all(self, error: ClientError) -> None:
        for queue in self._queues.values():
            queue.fail_all(error)

    async def _send_forever(self) -> None:
        if self.settings.idempotent and self._owner is None:
            try:
                self._identity = await init_producer_id(self._cluster)
            except ClientError as error:
                self._fail_all(error)
                return
        while True:
            self._has_work.clear()
            await self._refresh_old_metadata()
            wait_s = await self._send_ready()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._has_work.wait()

    async def _refresh_old_metadata(self) -> None:
        """A topic may have got more partitions."""
        now_s = self._cluster.now_s()
        if now_s >= self._refresh_at_s:
            self._refresh_at_s = now_s + self._cluster.settings.metadata_max_age_ms / 1000
            with contextlib.suppress(ClientError):
                await self._cluster.refresh({partition.topic for partition in self._queues})

    async def _send_ready(self) -> float | None:
        """Send what can be sent; how long to wait for more, None if only new work can change something."""
        now_s = self._cluster.now_s()
        wake_at_s = float("inf")
        by_leader: dict[int, list[PartitionQueue]] = {}
        stale: set[str] = set()
        unheld: list[TopicPartition] = []
        for queue in list(self._queues.values()):
            queue.expire(now_s, self.settings.delivery_timeout_ms / 1000, self._expired)
            ready_at_s = queue.ready_at_s()
            if ready_at_s is None:
                continue
            if ready_at_s > now_s:
                wake_at_s = min(wake_at_s, ready_at_s)
                continue
            leader = self._cluster.metadata.leader(queue.partition)
            if leader is None:
                stale.add(queue.partition.topic)
                head = queue.waiting[0]
                head.error = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
                self._tell_retry(head)
                wake_at_s = min(wake_at_s, now_s + self._cluster.settings.retry.initial_ms / 1000)
            elif self._owner is not None and not self._owner.holds(queue.partition):
                unheld.append(queue.partition)
            elif self._in_flight.get(leader.node_id, 0) < IN_FLIGHT_REQUESTS_MAX:
                by_leader.setdefault(leader.node_id, []).append(queue)
        for node_id, queues in by_leader.items():
            if self._send_to(node_id, queues, now_s):
                wake_at_s = now_s
        if unheld:
            self._start_adding(unheld)
        if stale:
            with contextlib.suppress(ClientError):
                await self._cluster.refresh(stale)
        return None if wake_at_s == float("inf") else max(0.0, wake_at_s - self._cluster.now_s())

    def _send_to(self, node_id: int, queues: list[PartitionQueue], now_s: float) -> bool:
        """One request; whether something was left for another one."""
        batches: list[ProducerBatch] = []
        size = 0
        # Each request begins with another partition, so that none waits for ever behind the others.
        queues = self._cluster.machine.shuffled(queues)
        for queue in queues:
            if batches and size + queue.waiting[0].writer.size_bytes > self.settings.request_bytes_max:
                self._start_request(node_id, batches)
                return True
            batch = queue.take(now_s)
            if batch is not None:
                batches.append(batch)
                size += batch.writer.size_bytes
        if batches:
            self._start_request(node_id, batches)
        return any(queue.ready_at_s() == 0.0 for queue in queues)

    def _start_request(self, node_id: int, batches: list[ProducerBatch]) -> None:
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        task = asyncio.create_task(self._request(node_id, batches), name=f"produce to {node_id}")
        self._requests[task] = None
        task.add_done_callback(self._requests.pop)

    async def _request(self, node_id: int, batches: list[ProducerBatch]) -> None:
        try:
            records = self._encoded(batches)
            connection = await self._cluster.connection(node_id, "produce")
            answers = await produce(
                self._cluster,
                connection,
                records,
                acks=self.settings.acks,
                transactional_id=self.settings.transactional_id,
                is_added=None if self._owner is None else not self._owner.is_v2,
            )
            outcomes = [
                Outcome(answer.base_offset, answer.log_append_time_ms, answer.error)
                for answer in (answers[batch.partition] for batch in batches)
            ]
        except ClientError as error:
            outcomes = [Outcome(error=error)] * len(batches)
        except Exception as error:  # noqa: BLE001 (whatever is wrong with a batch is the answer to its records)
            wrong = ClientError(f"a batch cannot be sent: {error!r}")
            outcomes = [Outcome(error=wrong)] * len(batches)
        finally:
            self._in_flight[node_id] -= 1
        await self._settle(node_id, batches, outcomes)

    def _encoded(self, batches: list[ProducerBatch]) -> dict[TopicPartition, bytearray]:
        if self._owner is not None:
            producer_id, epoch = self._owner.identity.producer_id, self._owner.identity.producer_epoch
            return {
                batch.partition: batch.writer.build(producer_id, epoch, batch.sequence, is_transactional=True)
                for batch in batches
            }
        identity = self._identity
        if identity is None:
            return {batch.partition: batch.writer.build() for batch in batches}
        epochs = {batch.partition: self._queues[batch.partition].epoch_bumps for batch in batches}
        return {
            batch.partition: batch.writer.build(
                identity.producer_id, identity.producer_epoch + epochs[batch.partition], batch.sequence
            )
            for batch in batches
        }

    async def _settle(self, node_id: int, batches: list[ProducerBatch], outcomes: list[Outcome]) -> None:
        now_s = self._cluster.now_s()
        stale: set[str] = set()
        for batch, outcome in zip(batches, outcomes, strict=True):
            queue = self._queues[batch.partition]
            error = outcome.error
            if isinstance(error, KafkaError) and error.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                error = None
            if error is None:
                queue.acknowledged(batch, outcome)
                continue
            if self._owner is not None and self._owner.state.is_over:
                queue.gave_up(batch, error)
                continue
            delay_ms = self._retry_policy(error).delay_ms(batch.attempts, self._cluster.machine.random())
            if queue.failed(batch, self._explained(error, batch), now_s, delay_ms / 1000):
                self._tell_retry(batch, node_id)
            if not isinstance(error, KafkaError) or error.code.refreshes_metadata:
                stale.add(batch.partition.topic)
        self._has_work.set()
        if stale:
            with contextlib.suppress(ClientError):
                await self._cluster.refresh(stale)

    def _tell_retry(self, batch: ProducerBatch, node_id: int | None = None) -> None:
        if batch.error is not None:
            target = "" if node_id is None else f" at broker {node_id}"
            until_s = batch.created_s + self.settings.delivery_timeout_ms / 1000
            what = f"producing to {batch.partition}{target}"
            self._cluster.tell_retry(what, batch.error, since_s=batch.failing_since_s, until_s=until_s)

    def _retry_policy(self, error: ClientError) -> RetryPolicy:
        """With NOT_ENOUGH_REPLICAS a broker also says that the transaction before is still being ended."""
        is_brief = isinstance(error, KafkaError) and error.code in _TRANSACTION_ENDING
        return QUICK_RETRY if self._owner is not None and is_brief else self._cluster.settings.retry

    def _explained(self, error: ClientError, batch: ProducerBatch) -> ClientError:
        if not isinstance(error, KafkaError):
            return error
        if error.code is ErrorCode.MESSAGE_TOO_LARGE:
            size = batch.writer.size_bytes
            text = f"a batch of {size} bytes is larger than max.message.bytes of topic {batch.partition.topic!r}"
            return KafkaError(error.code, f"{text}: raise it there, or lower batch_bytes here")
        if error.code is ErrorCode.INVALID_PRODUCER_EPOCH and self._owner is not None:
            text = f"{batch.partition} takes no more records of this transaction"
            return KafkaError(error.code, f"{text}: {self._owner.why_over()}")
        return error

    def _expired(self, batch: ProducerBatch) -> ClientError:
        timeout_ms = self.settings.delivery_timeout_ms
        text = f"no broker acknowledged a batch for {batch.partition} within {timeout_ms:g} ms"
        return RequestTimedOut(text if batch.error is None else f"{text}: {batch.error}")


def _owner(cluster: Cluster, settings: ProducerSettings) -> TransactionOwner | None:
    if settings.transactional_id is None:
        return None
    return TransactionOwner(
        cluster,
        settings.transactional_id,
        transaction_timeout_ms=settings.transaction_timeout_ms,
        max_block_ms=settings.max_block_ms,
    )
