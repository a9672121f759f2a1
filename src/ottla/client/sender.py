"""Sends the batches of a producer to the brokers that lead their partitions, and settles them by the answers.

One task per producer. It sleeps until a batch is ready, and sends one request to each leader with one batch for each
partition; at most `IN_FLIGHT_REQUESTS_MAX` requests per broker wait for answers. The queues decide what may be sent
again and in which order (`producer_queue.py`); this module finds leaders, moves the bytes and looks for a new leader
when the old one refuses.

The task starts with the first record, and an idempotent producer gets its identity then. When the task ends, for
whatever reason, every record that is not settled fails with it; the next record starts another one.
"""

import asyncio
import contextlib

from ottla.client.cluster import Cluster
from ottla.client.delivery import OpenBatch
from ottla.client.errors import ClientClosed, ClientError, KafkaError, RequestTimedOut
from ottla.client.produce_request import produce
from ottla.client.producer_ids import ProducerIdentity, init_producer_id
from ottla.client.producer_queue import Outcome, PartitionQueue, ProducerBatch
from ottla.client.producer_settings import ProducerSettings
from ottla.client.record_accumulator import RecordAccumulator
from ottla.client.retries import RetryPolicy
from ottla.client.transaction_manager import TransactionManager
from ottla.client.transaction_requests import QUICK_RETRY
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

# Requests without an answer, per broker. Brokers recognise the last five batches of a producer.
IN_FLIGHT_REQUESTS_MAX = 5

_TRANSACTION_ENDING = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS})


class Sender:
    """See the module; without transactions there is no manager."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ProducerSettings,
        accumulator: RecordAccumulator,
        transactions: TransactionManager | None,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._accumulator = accumulator
        self._transactions = transactions
        self._identity: ProducerIdentity | None = None
        self._in_flight: dict[int, int] = {}
        # A dict, because requests are ended in this order: a set would go by their addresses.
        self._requests: dict[asyncio.Task[None], None] = {}
        self._refresh_at_s = cluster.now_s() + cluster.settings.metadata_max_age_ms / 1000
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task unless it runs."""
        if self._task is None:
            self._task = self._cluster.in_background(self._send_forever(), "producer")
            self._task.add_done_callback(self._task_ended)

    def cancel(self) -> list[asyncio.Task[None]]:
        """Cancel what runs; returns the tasks to wait for."""
        tasks = [task for task in (self._task, *self._requests) if task is not None]
        for task in tasks:
            task.cancel()
        return tasks

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """Fail what is not settled, so that those who wait for a record learn why."""
        self._task = None
        if task.cancelled():
            self._accumulator.fail_all(ClientClosed("the client was closed before the record was delivered"))
        elif (error := task.exception()) is not None:
            self._accumulator.fail_all(ClientError(f"the producer failed: {error!r}"))

    async def _send_forever(self) -> None:
        if self._settings.idempotent and self._transactions is None:
            try:
                self._identity = await init_producer_id(self._cluster)
            except ClientError as error:
                self._accumulator.fail_all(error)
                return
        has_work = self._accumulator.has_work
        while True:
            has_work.clear()
            await self._refresh_old_metadata()
            wait_s = await self._send_ready()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await has_work.wait()

    async def _refresh_old_metadata(self) -> None:
        """Notice new partitions of a topic."""
        now_s = self._cluster.now_s()
        if now_s >= self._refresh_at_s:
            self._refresh_at_s = now_s + self._cluster.settings.metadata_max_age_ms / 1000
            await self._refresh({partition.topic for partition in self._accumulator.queues})

    async def _refresh(self, topics: set[str]) -> None:
        with contextlib.suppress(ClientError):
            await self._cluster.refresh(topics)

    async def _send_ready(self) -> float | None:
        """Send what can be sent; returns how long to wait for more, None if only new work matters."""
        now_s = self._cluster.now_s()
        owner = None if self._transactions is None else self._transactions.owner
        wake_at_s = float("inf")
        by_leader: dict[int, list[PartitionQueue[OpenBatch]]] = {}
        stale: set[str] = set()
        unheld: list[TopicPartition] = []
        for queue in list(self._accumulator.queues.values()):
            queue.expire(now_s, self._settings.delivery_timeout_ms / 1000, self._explain_expiry)
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
            elif owner is not None and not owner.holds(queue.partition):
                unheld.append(queue.partition)
            elif self._in_flight.get(leader.node_id, 0) < IN_FLIGHT_REQUESTS_MAX:
                by_leader.setdefault(leader.node_id, []).append(queue)
        for node_id, queues in by_leader.items():
            if self._send_to(node_id, queues, now_s):
                wake_at_s = now_s
        if unheld and self._transactions is not None:
            self._transactions.add_partitions(unheld)
        if stale:
            await self._refresh(stale)
        return None if wake_at_s == float("inf") else max(0.0, wake_at_s - self._cluster.now_s())

    def _send_to(self, node_id: int, queues: list[PartitionQueue[OpenBatch]], now_s: float) -> bool:
        """Send one request; returns whether something is left for another one."""
        batches: list[OpenBatch] = []
        size = 0
        # Each request begins with another partition, so that none is starved by the others.
        queues = self._cluster.machine.shuffled(queues)
        for queue in queues:
            if batches and size + queue.waiting[0].builder.size_bytes > self._settings.request_bytes_max:
                self._start_request(node_id, batches)
                return True
            batch = queue.take(now_s)
            if batch is not None:
                batches.append(batch)
                size += batch.builder.size_bytes
        if batches:
            self._start_request(node_id, batches)
        return any(queue.ready_at_s() == 0.0 for queue in queues)

    def _start_request(self, node_id: int, batches: list[OpenBatch]) -> None:
        self._in_flight[node_id] = self._in_flight.get(node_id, 0) + 1
        task = asyncio.create_task(self._request(node_id, batches), name=f"produce to {node_id}")
        self._requests[task] = None
        task.add_done_callback(self._requests.pop)

    async def _request(self, node_id: int, batches: list[OpenBatch]) -> None:
        try:
            records = self._encode(batches)
            connection = await self._cluster.connection(node_id, "produce")
            answers = await produce(
                self._cluster,
                connection,
                records,
                acks=self._settings.acks,
                transactional_id=self._settings.transactional_id,
                is_added=None if self._transactions is None else not self._transactions.owner.is_v2,
            )
            outcomes = [
                Outcome(answer.base_offset, answer.log_append_time_ms, answer.error)
                for answer in (answers[batch.partition] for batch in batches)
            ]
        except ClientError as error:
            outcomes = [Outcome(error=error)] * len(batches)
        except Exception as error:  # noqa: BLE001 (an error of a batch is the answer to its records)
            wrong = ClientError(f"a batch cannot be sent: {error!r}")
            outcomes = [Outcome(error=wrong)] * len(batches)
        finally:
            self._in_flight[node_id] -= 1
        await self._settle(node_id, batches, outcomes)

    def _encode(self, batches: list[OpenBatch]) -> dict[TopicPartition, bytearray]:
        """The batches, each under the epoch that its partition is in now."""
        queues, transactions = self._accumulator.queues, self._transactions
        identity = self._identity if transactions is None else transactions.owner.identity
        if identity is not None:
            for batch in batches:
                epoch = identity.producer_epoch + (queues[batch.partition].epoch_bumps if transactions is None else 0)
                batch.builder.set_producer_state(
                    identity.producer_id, epoch, batch.sequence, is_transactional=transactions is not None
                )
        return {batch.partition: batch.builder.build() for batch in batches}

    async def _settle(self, node_id: int, batches: list[OpenBatch], outcomes: list[Outcome]) -> None:
        now_s = self._cluster.now_s()
        stale: set[str] = set()
        for batch, outcome in zip(batches, outcomes, strict=True):
            queue = self._accumulator.queues[batch.partition]
            error = outcome.error
            if isinstance(error, KafkaError) and error.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                error = None
            if error is None:
                queue.acknowledged(batch, outcome)
                continue
            if self._transactions is not None and self._transactions.owner.state.is_over:
                queue.gave_up(batch, error)
                continue
            delay_ms = self._retry_policy(error).delay_ms(batch.attempts, self._cluster.machine.random())
            if queue.failed(batch, self._explain(error, batch), now_s, delay_ms / 1000):
                self._tell_retry(batch, node_id)
            if not isinstance(error, KafkaError) or error.code.refreshes_metadata:
                stale.add(batch.partition.topic)
        self._accumulator.has_work.set()
        if stale:
            await self._refresh(stale)

    def _tell_retry(self, batch: ProducerBatch, node_id: int | None = None) -> None:
        if batch.error is not None:
            target = "" if node_id is None else f" at broker {node_id}"
            until_s = batch.created_s + self._settings.delivery_timeout_ms / 1000
            what = f"producing to {batch.partition}{target}"
            self._cluster.tell_retry(what, batch.error, since_s=batch.failing_since_s, until_s=until_s)

    def _retry_policy(self, error: ClientError) -> RetryPolicy:
        """A broker also answers NOT_ENOUGH_REPLICAS while the transaction before is still ending."""
        is_brief = isinstance(error, KafkaError) and error.code in _TRANSACTION_ENDING
        return QUICK_RETRY if self._transactions is not None and is_brief else self._cluster.settings.retry

    def _explain(self, error: ClientError, batch: ProducerBatch) -> ClientError:
        if not isinstance(error, KafkaError):
            return error
        if error.code is ErrorCode.MESSAGE_TOO_LARGE:
            size = batch.builder.size_bytes
            text = f"a batch of {size} bytes is larger than max.message.bytes of topic {batch.partition.topic!r}"
            return KafkaError(error.code, f"{text}: raise it there, or lower batch_bytes here")
        if error.code is ErrorCode.INVALID_PRODUCER_EPOCH and self._transactions is not None:
            text = f"{batch.partition} takes no more records of this transaction"
            return KafkaError(error.code, f"{text}: {self._transactions.owner.why_over()}")
        return error

    def _explain_expiry(self, batch: ProducerBatch) -> ClientError:
        timeout_ms = self._settings.delivery_timeout_ms
        text = f"no broker acknowledged a batch for {batch.partition} within {timeout_ms:g} ms"
        return RequestTimedOut(text if batch.error is None else f"{text}: {batch.error}")
