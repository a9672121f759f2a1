"""Records that wait to be sent: gathered into batches by partition, all of them within one bound of memory.

`producer_queue.py` decides for each partition when a batch leaves and in which order; this module keeps the queues of
all partitions and counts their bytes. A record counts from `append` until its batch is settled. When the buffer is
full, senders wait in `await_space`: nothing is ever dropped to make room.
"""

import asyncio
from collections.abc import Callable

from ottla.client.cluster import Cluster
from ottla.client.delivery import Delivery, OpenBatch
from ottla.client.errors import ClientError, RequestTimedOut
from ottla.client.producer_queue import PartitionQueue
from ottla.client.producer_settings import ProducerSettings
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.record_batch import HEADER_BYTES
from ottla.protocol.records import Headers
from ottla.protocol.topic_partition import TopicPartition


class RecordAccumulator:
    """See the module; `on_failure` hears of every batch that was not written."""

    def __init__(
        self, cluster: Cluster, settings: ProducerSettings, on_failure: Callable[[OpenBatch, ClientError], None]
    ) -> None:
        self.queues: dict[TopicPartition, PartitionQueue[OpenBatch]] = {}
        self.buffered_bytes = 0
        # Set when a batch may have become ready; the sender clears it.
        self.has_work = asyncio.Event()
        self._cluster = cluster
        self._settings = settings
        self._on_failure = on_failure
        self._has_space = asyncio.Event()

    def append(
        self,
        partition: TopicPartition,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        *,
        size_bound: int,
        transaction: int,
    ) -> Delivery:
        """Add a record to its partition's batch, or to a new one if it might not fit."""
        queue = self.queues.get(partition)
        if queue is None:
            queue = self._open_queue(partition)
        batch = queue.open_batch()
        if batch is None or batch.builder.size_bytes + size_bound > self._settings.batch_bytes:
            batch = self._open_batch(partition, transaction)
            queue.add(batch)
            self.has_work.set()
        before = batch.builder.size_bytes
        number = batch.builder.append(key, value, timestamp_ms=timestamp_ms, headers=headers)
        self.buffered_bytes += batch.builder.size_bytes - before
        if batch.builder.size_bytes >= self._settings.batch_bytes:
            batch.is_sealed = True
            self.has_work.set()
        return Delivery(batch, number, timestamp_ms)

    async def await_space(self, size_bytes: int) -> None:
        """Wait until a record of this size fits into the buffer."""
        limit = self._settings.buffer_bytes
        try:
            async with asyncio.timeout(self._settings.max_block_ms / 1000):
                while self.buffered_bytes + size_bytes > limit:
                    self._has_space.clear()
                    self.has_work.set()
                    await self._has_space.wait()
        except TimeoutError:
            text = f"the buffer of {limit} bytes stayed full for {self._settings.max_block_ms:g} ms"
            raise RequestTimedOut(f"{text}: brokers accept less than is produced, or cannot be reached") from None

    async def drain(self) -> None:
        """Send everything that waits, and wait until all of it is settled."""
        outcomes = []
        for queue in self.queues.values():
            for batch in (*queue.in_flight, *queue.waiting):
                batch.is_sealed = True
                outcomes.append(batch.outcome)
        self.has_work.set()
        if outcomes:
            await asyncio.wait(outcomes)

    def fail_waiting(self, error: ClientError) -> None:
        """Send no more of what waits; what is under way will come back."""
        for queue in self.queues.values():
            queue.fail_waiting(error)

    def fail_all(self, error: ClientError) -> None:
        """Fail everything that is not settled."""
        for queue in self.queues.values():
            queue.fail_all(error)

    def restart_sequences(self) -> None:
        """Begin at sequence 0 again, under a new producer epoch; nothing may be waiting or under way."""
        for queue in self.queues.values():
            queue.restart()

    def _open_queue(self, partition: TopicPartition) -> PartitionQueue[OpenBatch]:
        settings = self._settings
        queue = PartitionQueue[OpenBatch](
            partition, is_idempotent=settings.idempotent, linger_s=settings.linger_ms / 1000
        )
        self.queues[partition] = queue
        return queue

    def _open_batch(self, partition: TopicPartition, transaction: int) -> OpenBatch:
        builder = BatchBuilder(codec=self._settings.codec, compression_level=self._settings.compression_level)
        batch = OpenBatch(partition, builder, self._cluster.now_s(), transaction)
        batch.outcome.add_done_callback(lambda _: self._settled(batch))
        return batch

    def _settled(self, batch: OpenBatch) -> None:
        self.buffered_bytes -= batch.builder.size_bytes - HEADER_BYTES
        self._has_space.set()
        self.has_work.set()
        error = batch.outcome.result().error
        if error is not None:
            self._on_failure(batch, error)
