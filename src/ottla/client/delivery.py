"""What became of a record: all records of a batch share its future, and each knows its number in the batch."""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from ottla.client.producer_queue import Outcome, ProducerBatch
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where a record was written; the offset is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class OpenBatch(ProducerBatch):
    """A batch whose outcome can be awaited."""

    __slots__ = ("is_observed", "outcome", "transaction")

    def __init__(
        self, partition: TopicPartition, builder: BatchBuilder, created_s: float, transaction: int = 0
    ) -> None:
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        # Whether someone waits for one of its records, and will see a failure there.
        self.is_observed = False
        # The number of the transaction that it belongs to.
        self.transaction = transaction
        super().__init__(partition, builder, created_s, self.outcome.set_result)


class Delivery:
    """A record being delivered: await it for its place in the log, or for the error that prevented that."""

    __slots__ = ("_timestamp_ms", "batch", "number")

    def __init__(self, batch: OpenBatch, number: int, timestamp_ms: int) -> None:
        self.batch = batch
        self.number = number
        self._timestamp_ms = timestamp_ms

    @property
    def is_done(self) -> bool:
        return self.batch.outcome.done()

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        self.batch.is_observed = True
        outcome = yield from asyncio.shield(self.batch.outcome).__await__()
        if outcome.error is not None:
            raise outcome.error
        topic, partition = self.batch.partition
        offset = outcome.base_offset + self.number if outcome.base_offset >= 0 else -1
        appended_ms = outcome.log_append_time_ms
        return RecordMetadata(topic, partition, offset, appended_ms if appended_ms >= 0 else self._timestamp_ms)
