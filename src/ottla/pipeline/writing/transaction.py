"""One transaction of a driver and its tasks: each task writes its rows into partitions that no other task writes to.

A second attempt of a task inside one transaction would begin with the same sequences, and the broker would take its
first batches for duplicates of those of the first attempt: records would be missing without an error. So before the
first batch goes to a partition, the partition is asked what it has seen of this producer (DescribeProducers). Anything
other than what the driver expects fails the task, and with it the transaction, which may be repeated as a new one.
Nothing of a task outlives it: its records count only once the driver has committed.

Two tasks that write to one partition at the same moment may not see each other; `check_disjoint` does, before the
driver commits. The driver may ask for a commit or an abort as often as it likes, so it repeats the question when the
answer is lost (`repeat_until_answered`).
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from ottla.client.admin.producers import PartitionProducers
from ottla.client.errors import ClientError
from ottla.client.producer_ids import ProducerIdentity
from ottla.client.sync import Client
from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.worker_garbage import freeze_imports
from ottla.pipeline.writing.partition_writer import PartitionWriter, Written
from ottla.pipeline.writing.refusals import explained_refusals
from ottla.pipeline.writing.write_options import WriteOptions
from ottla.protocol.record_batch import MAX_SEQUENCE
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

_ALL_REPLICAS: Final = -1
# How often a commit or an abort is asked for, each time for as long as a call may take.
END_CALLS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the driver hands to its tasks."""

    options: WriteOptions
    transactional_id: str
    identity: ProducerIdentity
    # Under the older protocol partitions must be added, and sequences continue from one transaction to the next.
    adds_partitions: bool = False
    sequences: Mapping[TopicPartition, int] = field(default_factory=dict)
    # None if each row names its own.
    topic: str | None = None


def refuse_second_attempt() -> None:
    """Raise PipelineError in a task that Spark has started before, as after a failure or with `spark.speculation`.

    When a stage is repeated because an executor was lost, its tasks count as first attempts, and Spark does not tell
    Python which attempt of the stage it is: only `spark.stage.maxConsecutiveAttempts=1` prevents that.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        raise PipelineError(
            f"attempt {context.attemptNumber() + 1} of a task: a transaction allows only one, and must be "
            "repeated as a whole"
        )


def write_partitions(batches: Iterator[pa.RecordBatch], transaction: Transaction) -> list[Written]:
    """Write all rows; PipelineError if one could not be written, or may not be."""
    client = client_of(transaction.options.cluster)
    role = _Participant(client, transaction)
    written = PartitionWriter(client, transaction.options, role, transaction.topic).write(batches)
    freeze_imports()
    return written


class _Participant:
    """A task that writes in a transaction."""

    acks = _ALL_REPLICAS

    def __init__(self, client: Client, transaction: Transaction) -> None:
        self._client = client
        self._transaction = transaction
        self.identity = transaction.identity
        self.transactional_id = transaction.transactional_id

    def join(self, targets: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        transaction = self._transaction
        first = {target: transaction.sequences.get(target, 0) for target in targets}
        with explained_refusals(None, self.transactional_id):
            described = self._client.admin.describe_producers(targets)
            for target in targets:
                check_untouched(target, described[target], transaction.identity, first[target])
            if transaction.adds_partitions:
                self._client.add_partitions_to_transaction(transaction.transactional_id, transaction.identity, targets)
        return first

    def replacement(self) -> None:
        """The identity is the driver's."""


def check_untouched(
    target: TopicPartition, found: PartitionProducers, identity: ProducerIdentity, expected_sequence: int
) -> None:
    """Raise PipelineError if this producer has written something to a partition that the driver does not know of."""
    if found.error is not None:
        raise found.error
    for producer in found.producers:
        if producer.producer_id != identity.producer_id or producer.producer_epoch != identity.producer_epoch:
            continue
        # A marker that ended an earlier transaction leaves the producer without a sequence.
        if producer.last_sequence >= 0 and (producer.last_sequence + 1) & MAX_SEQUENCE != expected_sequence:
            raise PipelineError(
                f"another task, or another attempt of this one, has written to {target} in this transaction already. "
                "Each partition needs one task, with one attempt: spark.speculation must be false, and rows that go "
                'through write.format("ottla") must be put into tasks by ottla.pipeline.partitioned'
            )


def check_disjoint(written: Iterable[Written]) -> None:
    """Raise PipelineError if two tasks wrote into one partition: the broker may have confused their records."""
    twice = sorted(target for target, tasks in Counter(row.target for row in written).items() if tasks > 1)
    if twice:
        raise PipelineError(
            f"two tasks wrote to {', '.join(map(str, twice))} in one transaction, and only one may: the rows must "
            "be repartitioned by topic and partition (ottla.pipeline.partitioned does it)"
        )


def repeat_until_answered(end: Callable[[], None], in_doubt: type[ClientError]) -> None:
    """Call `end` until it is answered; raise the last `in_doubt` if it never was."""
    for call in range(1, END_CALLS_MAX + 1):
        try:
            return end()
        except in_doubt as error:
            if call == END_CALLS_MAX:
                raise
            logger.warning("%s", error)
    return None
