"""What a task of `format("ottla")` does with its rows, and what it reports to the driver.

By itself a task is a producer: idempotent, unless the options say otherwise, so that a request which has to be repeated
is not written twice. It is the producer of an earlier successful task of its process, or a new one. A task that Spark
restarts writes all its rows again, and no broker recognises them: at least once. In a transaction the tasks share the
driver's identity (`ottla.pipeline.writing.transaction`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from ottla.client.producer_ids import NO_IDENTITY, ProducerIdentity
from ottla.client.sync import Client
from ottla.pipeline.append.idle_producers import IdleProducer, give_back, take_idle
from ottla.pipeline.append.options import AppendOptions
from ottla.pipeline.append.target_topics import TargetTopics
from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.worker_garbage import freeze_imports
from ottla.pipeline.writing.partition_writer import PartitionWriter, Written
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.pipeline.writing.row_placement import RowPlacement
from ottla.pipeline.writing.transaction import Transaction, refuse_second_attempt, write_partitions
from ottla.protocol.record_batch import NO_SEQUENCE
from ottla.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Appended(WriterCommitMessage):
    """What a task wrote."""

    written: tuple[Written, ...]


def append_rows(batches: Iterator[pa.RecordBatch], options: AppendOptions) -> Appended:
    """Write the rows of a task, which is a producer by itself; all of it is acknowledged when this returns."""
    client = client_of(options.cluster)
    role = LoneProducer(client, options)
    writer = PartitionWriter(client, options.write, role, options.topic)
    written = writer.write(_placed(batches, client, options))
    role.retire(written)
    freeze_imports()
    return Appended(tuple(written))


def append_in_transaction(
    batches: Iterator[pa.RecordBatch], options: AppendOptions, transaction: Transaction
) -> Appended:
    """Write the rows of a task into a transaction of the driver's."""
    refuse_second_attempt()
    placed = _placed(batches, client_of(options.cluster), options)
    return Appended(tuple(write_partitions(placed, transaction)))


class LoneProducer:
    """A task that writes by itself."""

    transactional_id = None

    def __init__(self, client: Client, options: AppendOptions) -> None:
        self._client = client
        self._cluster = options.cluster
        self._is_idempotent = options.is_idempotent
        self._producer: IdleProducer | None = None
        self._replacement: ProducerIdentity | None = None
        self.acks = options.acks

    @property
    def identity(self) -> ProducerIdentity:
        return NO_IDENTITY if self._producer is None else self._producer.identity

    def join(self, targets: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        if not self._is_idempotent:
            return dict.fromkeys(targets, NO_SEQUENCE)
        if self._producer is None:
            # Only when there is a row: many tasks have none.
            self._producer = take_idle(self._cluster) or IdleProducer(self._new_identity())
        return {target: self._producer.sequences.get(target, 0) for target in targets}

    def replacement(self) -> ProducerIdentity | None:
        """One for all partitions that do not know the producer (any more)."""
        if self._replacement is None:
            self._replacement = self._new_identity()
        return self._replacement

    def retire(self, written: list[Written]) -> None:
        """Leave the producer to another task once all is written, unless it was replaced for some partitions."""
        if self._producer is not None and self._replacement is None:
            self._producer.sequences.update({row.target: row.next_sequence for row in written})
            give_back(self._cluster, self._producer)

    def _new_identity(self) -> ProducerIdentity:
        with explained_refusals(None, None):
            return self._client.init_producer_id()


def _placed(batches: Iterator[pa.RecordBatch], client: Client, options: AppendOptions) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    first_turn = 0 if context is None else context.partitionId()
    return RowPlacement(TargetTopics(client, options), options.topic, first_turn).placed(batches)
