"""What became of a record: the whole batch shares one future, and each record knows its number in it."""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from ottla.client.batch_writer import BatchWriter
from ottla.client.metadata import TopicPartition
from ottla.client.producer_queue import Outcome, ProducerBatch


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

    def __init__(self, partition: TopicPartition, writer: BatchWriter, created_s: float) -> None:
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.is_observed = False
        self.transaction = 0
        super().__init__(partition, writer, created_s, self.outcome.set_result)


class Delivery:
    """A record on its way: await it for its place in the log, or for the error that kept it out."""

    __slots__ = ("_batch", "_number", "_timestamp_ms")

    def __init__(self, batch: OpenBatch, number: int, timestamp_ms: int) -> None:
        self._batch = batch
        self._number = number
        self._timestamp_ms = timestamp_ms

    @property
    def batch(self) -> OpenBatch:
        """What it travels in: all deliveries of a batch share its outcome."""
        return self._batch

    @property
    def is_done(self) -> bool:
        return self._batch.outcome.done()

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        self._batch.is_observed = True
        outcome = yield from asyncio.shield(self._batch.outcome).__await__()
        if outcome.error is not None:
            raise outcome.error
        topic, partition = self._batch.partition
        offset = outcome.base_offset + self._number if outcome.base_offset >= 0 else -1
        appended_ms = outcome.log_append_time_ms
        return RecordMetadata(topic, partition, offset, appended_ms if appended_ms >= 0 else self._timestamp_ms)
