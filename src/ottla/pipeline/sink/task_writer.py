"""What a task does: write its rows into partitions that no other task writes to, in a transaction that the driver owns.

Guarantees. The batches of a partition are written in order, one request at a time, with sequences that go on from the
number that the driver gave; a request that is not answered is repeated, and the broker recognises it. Several
partitions are written to at the same time, and the next batches are built meanwhile.

A second attempt of a task inside one transaction would begin with the same sequences, and the broker would take its
first batches for repetitions of those of the first attempt: records would be missing without an error. So before the
first batch goes to a partition, the partition is asked what it has seen of this producer (DescribeProducers); anything
else than what the driver expects fails the task, and with it the batch, which the driver begins again in a new
transaction. Nothing of a task survives it: its records count only once the driver has committed.
"""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from ottla.client.admin.producers import PartitionProducers
from ottla.client.columns import columns_to_batches
from ottla.client.errors import ClientError, KafkaError
from ottla.client.metadata import TopicPartition
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.sink.options import SinkOptions
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import MAX_SEQUENCE

if TYPE_CHECKING:
    from ottla.client.produce_request import Produced

# Rows of all partitions of a task that wait to be written, however many partitions there are.
BUFFER_BYTES_MAX: Final = 64 << 20

REPORT_SCHEMA: Final = "topic string, partition long, records long, next_sequence long, bytes long"

_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the driver hands to its tasks."""

    options: SinkOptions
    transactional_id: str
    identity: ProducerIdentity
    # By the older protocol partitions have to be added, and sequences go on from one transaction to the next.
    adds_partitions: bool = False
    sequences: Mapping[TopicPartition, int] = field(default_factory=dict)
    # None if each row names its own.
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a task wrote into one partition."""

    target: TopicPartition
    records: int
    next_sequence: int
    size_bytes: int


class WriteTask:
    """What Spark runs on the rows of a task, for `mapInArrow`; it answers with a row for each partition."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.attemptNumber() > 0:
            raise PipelineError(
                f"attempt {context.attemptNumber() + 1} of a task: in a transaction there is one alone, and the batch "
                "is begun again"
            )
        written = write_partitions(batches, self._transaction)
        yield pa.RecordBatch.from_pydict(
            {
                "topic": pa.array([row.target.topic for row in written], pa.string()),
                "partition": pa.array([row.target.partition for row in written], pa.int64()),
                "records": pa.array([row.records for row in written], pa.int64()),
                "next_sequence": pa.array([row.next_sequence for row in written], pa.int64()),
                "bytes": pa.array([row.size_bytes for row in written], pa.int64()),
            }
        )


def write_partitions(batches: Iterator[pa.RecordBatch], transaction: Transaction) -> list[Written]:
    """Write all rows; PipelineError if one could not be written, or may not be."""
    return _TaskWriter(transaction).write(batches)


def by_target(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """The rows of each partition, in their order."""
    partitions = batch.column("partition").to_numpy(zero_copy_only=False)
    topics = [topic]
    numbers = np.zeros(len(partitions), np.int64)
    if topic is None:
        encoded = batch.column("topic").dictionary_encode()
        topics = encoded.dictionary.to_pylist()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    places = (numbers << 32) | partitions
    if len(places) and (places == places[0]).all():
        yield TopicPartition(str(topics[numbers[0]]), int(partitions[0])), batch
        return
    order = np.argsort(places, kind="stable")
    ordered = batch.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(np.diff(places[order])) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        if start < end:
            row = order[start]
            yield TopicPartition(str(topics[numbers[row]]), int(partitions[row])), ordered.slice(start, end - start)


class _Partition:
    """What waits for one partition, and what is on its way there."""

    __slots__ = ("buffered", "buffered_bytes", "on_its_way", "records", "sequence", "written_bytes")

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.records = 0
        self.written_bytes = 0
        self.buffered: list[pa.RecordBatch] = []
        self.buffered_bytes = 0
        self.on_its_way: Future[tuple[Produced, ...]] | None = None


class _TaskWriter:
    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._options = transaction.options
        self._client = client_of(transaction.options.cluster)
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._buffered_bytes = 0

    def write(self, batches: Iterator[pa.RecordBatch]) -> list[Written]:
        try:
            for batch in batches:
                if batch.num_rows:
                    self._take(batch)
            for target in self._partitions:
                self._send(target)
            for target in self._partitions:
                self._wait(target)
        except BaseException:
            for partition in self._partitions.values():
                if partition.on_its_way is not None:
                    partition.on_its_way.cancel()
            raise
        return [
            Written(target, found.records, found.sequence, found.written_bytes)
            for target, found in self._partitions.items()
        ]

    def _take(self, batch: pa.RecordBatch) -> None:
        rows = list(by_target(batch, self._transaction.topic))
        self._join([target for target, _ in rows if target not in self._partitions])
        for target, part in rows:
            partition = self._partitions[target]
            partition.buffered.append(part)
            partition.buffered_bytes += part.nbytes
            self._buffered_bytes += part.nbytes
            if partition.buffered_bytes >= self._options.batch_bytes:
                self._send(target)
        while self._buffered_bytes > BUFFER_BYTES_MAX:
            self._send(max(self._partitions, key=lambda target: self._partitions[target].buffered_bytes))

    def _join(self, targets: list[TopicPartition]) -> None:
        """Before the first record goes to partitions."""
        if not targets:
            return
        transaction = self._transaction
        identity = transaction.identity
        with _told():
            described = self._client.admin.describe_producers(targets)
            for target in targets:
                expected = transaction.sequences.get(target, 0)
                check_untouched(target, described[target], identity, expected)
                self._partitions[target] = _Partition(expected)
            if transaction.adds_partitions:
                self._client.add_partitions_to_transaction(transaction.transactional_id, identity, targets)

    def _send(self, target: TopicPartition) -> None:
        partition = self._partitions[target]
        if not partition.buffered:
            return
        identity, options = self._transaction.identity, self._options
        rows = pa.Table.from_batches(partition.buffered)
        batches = columns_to_batches(
            rows,
            timestamp_ms=time.time_ns() // 1_000_000,
            codec=options.codec,
            compression_level=options.compression_level,
            batch_bytes=options.batch_bytes,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=partition.sequence,
            is_transactional=True,
        )
        self._buffered_bytes -= partition.buffered_bytes
        partition.buffered, partition.buffered_bytes = [], 0
        self._wait(target)
        partition.on_its_way = self._client.start_produce_batches(
            target.topic, target.partition, batches, transactional_id=self._transaction.transactional_id
        )
        partition.sequence = (partition.sequence + rows.num_rows) & MAX_SEQUENCE
        partition.records += rows.num_rows
        partition.written_bytes += len(batches)

    def _wait(self, target: TopicPartition) -> None:
        partition = self._partitions[target]
        if partition.on_its_way is not None:
            with _told(target):
                partition.on_its_way.result()
            partition.on_its_way = None


def check_untouched(
    target: TopicPartition, found: PartitionProducers, identity: ProducerIdentity, expected_sequence: int
) -> None:
    """PipelineError if this producer has written to a partition what the driver does not know of."""
    if found.error is not None:
        raise found.error
    for producer in found.producers:
        if producer.producer_id != identity.producer_id or producer.producer_epoch != identity.producer_epoch:
            continue
        # A marker that ended an earlier transaction leaves the producer without a sequence.
        if producer.last_sequence >= 0 and (producer.last_sequence + 1) & MAX_SEQUENCE != expected_sequence:
            raise PipelineError(
                f"another attempt of this task has written to {target} in this transaction already: the batch has to "
                "be begun again. (Speculation and repeated stages cause this: spark.speculation has to be false)"
            )


class _told:
    """What a broker refuses, in words for whoever runs the pipeline."""

    def __init__(self, target: TopicPartition | None = None) -> None:
        self._where = "" if target is None else f" to {target}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: Any) -> None:
        if not isinstance(error, ClientError):
            return
        code = error.code if isinstance(error, KafkaError) else None
        if code in _FENCED:
            raise PipelineError(
                f"writing{self._where} was refused: another driver has taken over this sink, or the transaction was "
                f"open for longer than kafka.transaction.timeout.ms and the broker has aborted it ({error})"
            ) from error
        if code is ErrorCode.MESSAGE_TOO_LARGE:
            raise PipelineError(
                f"writing{self._where} was refused: a batch is larger than the topic's max.message.bytes. Raise that, "
                f"or lower kafka.batch.size, unless a single record is that large ({error})"
            ) from error
        raise PipelineError(f"writing{self._where} failed: {error}") from error
