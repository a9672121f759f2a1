"""What a task of `format("ottla")` does with its rows, and what it tells the driver.

By itself a task is a producer of its own: idempotent, unless the options say otherwise, so that a request which has to
be repeated is not written twice. A task that Spark begins again is another producer, and writes all its rows again: at
least once. In a transaction the tasks share the driver's identity (`ottla.pipeline.writing.transaction_member`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from ottla.client.metadata import TopicPartition
from ottla.client.producer_ids import NO_IDENTITY, ProducerIdentity
from ottla.client.sync import Client
from ottla.pipeline.append.options import AppendOptions
from ottla.pipeline.append.row_placement import RowPlacement
from ottla.pipeline.append.target_topics import TargetTopics
from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.writing.partition_writer import PartitionWriter, Written
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.pipeline.writing.transaction_member import Transaction, refuse_second_attempt, write_partitions
from ottla.protocol.record_batch import NO_SEQUENCE


@dataclass(frozen=True, slots=True)
class Appended(WriterCommitMessage):
    """What a task wrote."""

    written: tuple[Written, ...]


def append_rows(batches: Iterator[pa.RecordBatch], options: AppendOptions) -> Appended:
    """Write the rows of a task as a producer of its own; all of it is acknowledged when this returns."""
    client = client_of(options.cluster)
    role = LoneProducer(client, options)
    writer = PartitionWriter(client, options.write, role, options.topic)
    return Appended(tuple(writer.write(_placed(batches, client, options))))


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
        self._is_idempotent = options.is_idempotent
        self.acks = options.acks
        self.identity: ProducerIdentity = NO_IDENTITY

    def join(self, targets: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        if not self._is_idempotent:
            return dict.fromkeys(targets, NO_SEQUENCE)
        if not self.identity.exists:
            # Not before there is a row: many tasks have none.
            with explained_refusals(None, None):
                self.identity = self._client.init_producer_id()
        return dict.fromkeys(targets, 0)


def _placed(batches: Iterator[pa.RecordBatch], client: Client, options: AppendOptions) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    first_turn = 0 if context is None else context.partitionId()
    return RowPlacement(TargetTopics(client, options), options.topic, first_turn).placed(batches)
