"""The driver's side of an exactly-once sink: one transaction for each micro-batch, which it alone begins and ends.

What a transaction holds: the records, written by the tasks under the driver's producer id and epoch; the offsets up to
which the batch read its topics, in the group of the sink's name; and the marker (`marker.py`). All of it or nothing.

What happens if the driver dies, by when:
- before the commit is logged: the next driver's `init` aborts what is open, the marker is the old one, and the batch
  is written again;
- after that: the marker is the batch's own, and the batch is skipped when Spark runs it again. `init` waits until the
  earlier transaction is over, so the marker that is read after it is the last one.
A driver that only slept is fenced by the `init` of the next one: its tasks' records, its offsets and its commit are
refused, so it can neither write nor move the marker.

What happens if a task or an executor dies: the job fails as a whole, because tasks have one attempt; the transaction is
aborted, which gives the next one a new epoch (KIP-890; by the older protocol a new `init` does), so whatever a lost
task still sends is refused; and the batch is written again from its beginning.

Rows reach their partitions in one of two ways, which place them alike: by a shuffle into several tasks (`Placement`),
or, for a small batch, all in one task (`RowPlacement`), which is quicker. Either way a partition has one writer.

A batch without rows is a transaction too, of its offsets and its marker only: otherwise the group would seem to lag.
"""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.client.errors import (
    AbortableError,
    ClientError,
    CommitInDoubt,
    FatalProducerError,
    KafkaError,
    RequestTimedOut,
)
from ottla.client.group_offsets import GroupMetadata
from ottla.client.producer_ids import ProducerIdentity
from ottla.client.sync import Client
from ottla.pipeline.cluster_clients import asking, client_of
from ottla.pipeline.errors import EndInDoubt, OptionError, PipelineError
from ottla.pipeline.failures import find_interruption, find_reason
from ottla.pipeline.sink.checkpoint import Checkpoint, topic_offsets
from ottla.pipeline.sink.marker import Decision, Marker, Undecidable, decide, plan_of
from ottla.pipeline.sink.marker_place import MarkerPlace
from ottla.pipeline.sink.small_batches import SmallBatches
from ottla.pipeline.sink.task_writer import REPORT_SCHEMA, OnlyTask, WriteTask
from ottla.pipeline.spark_session import is_local
from ottla.pipeline.writing.partition_writer import Written
from ottla.pipeline.writing.placement import Placement
from ottla.pipeline.writing.transaction import Transaction, check_disjoint, repeat_until_answered
from ottla.pipeline.writing.writable_topics import Topics, find_topics
from ottla.pipeline.writing.write_options import WriteOptions
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)

SourceOffsets: TypeAlias = Mapping[TopicPartition, int]

ID_PREFIX: Final = "ottla-sink-"
# On a cluster a batch survives lost executors, as often as Spark would let a task fail (spark.task.maxFailures).
_ATTEMPTS_ON_CLUSTER: Final = 4


class ExactlyOnceSink:
    """The function that Spark calls with each micro-batch."""

    def __init__(
        self,
        name: str,
        topic: str | None,
        options: WriteOptions,
        checkpoint: Checkpoint,
        *,
        does_little: bool = False,
    ) -> None:
        self.name = name
        self.transactional_id = ID_PREFIX + name
        self._topic = topic
        self._options = options
        self._checkpoint = checkpoint
        with asking(f"sink {name}"):
            self._client: Client = client_of(options.cluster)
        self._owner = self._client.transaction_owner(
            self.transactional_id, transaction_timeout_ms=options.transaction_timeout_ms
        )
        self._small_batches = SmallBatches(does_little=does_little)
        self._place = MarkerPlace(self._client, self.transactional_id, topic)
        self._marker: Marker | None = None
        # The last batch that Spark had planned when the sink was opened.
        self._planned_before = -1
        self._placement: Placement | None = None
        # By the older protocol: the next sequence of each partition, under one identity.
        self._sequences: dict[TopicPartition, int] = {}
        self._sequences_of: ProducerIdentity | None = None

    def open(self) -> Marker | None:
        """Fence earlier drivers of this sink, abort what they left open, and find out how far they came."""
        try:
            self._owner.init()
            self._marker = self._place.last()
        except ClientError as error:
            if isinstance(error, KafkaError) and error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                given = f"kafka.transaction.timeout.ms={self._options.transaction_timeout_ms}"
                raise OptionError(f"{given} is more than the brokers allow (transaction.max.timeout.ms)") from None
            raise PipelineError(f"sink {self.name} cannot begin: {error}") from error
        # Every driver that could have written a later one is fenced now.
        self._planned_before = self._checkpoint.last_planned()
        return self._marker

    def __call__(self, df: "DataFrame", batch_id: int) -> None:
        try:
            self._process(df, batch_id)
        except PipelineError:
            raise
        except AbortableError as error:
            limit = f"kafka.transaction.timeout.ms={self._options.transaction_timeout_ms}"
            raise PipelineError(
                f"sink {self.name}: batch {batch_id} was not written: {error}. If batches take longer than {limit}, "
                "raise that, or read less at a time (maxOffsetsPerTrigger)"
            ) from None
        except Exception as error:  # noqa: BLE001 (Spark needs any error in short)
            raise find_interruption(error) or PipelineError(f"sink {self.name}: {find_reason(error)}") from None

    def _process(self, df: "DataFrame", batch_id: int) -> None:
        query_id = self._checkpoint.query_id()
        if query_id is None:
            raise PipelineError(f"the checkpoint {self._checkpoint.location} has no file metadata: it was deleted")
        planned = self._checkpoint.planned(batch_id)
        serial = 0 if self._marker is None else self._marker.serial + 1
        marker = Marker(query_id, batch_id, plan_of(planned), serial)
        try:
            is_new = batch_id > self._planned_before
            decision = decide(self._marker, query_id, batch_id, marker.plan, is_new=is_new)
        except Undecidable as reason:
            raise PipelineError(
                f"sink {self.name} cannot know whether batch {batch_id} was written: {reason}. Start with a new "
                f"checkpoint, and let the source start where the output ends: with startingOffsets=committed and "
                f"kafka.group.id={self.name}, if that group still has offsets, or with startingOffsets of your own"
            ) from None
        if decision is Decision.SKIP:
            logger.info("sink %s: batch %d was committed before: skipping it", self.name, batch_id)
            # Its state and its watermark are not saved yet, and Spark requires them.
            df.write.format("noop").mode("overwrite").save()
            return
        self._write_batch(df, marker, topic_offsets(planned))

    def _write_batch(self, df: "DataFrame", marker: Marker, offsets: SourceOffsets) -> None:
        attempts = 1 if is_local(df.sparkSession.sparkContext.master or "") else _ATTEMPTS_ON_CLUSTER
        for attempt in range(1, attempts + 1):
            try:
                self._try_batch(df, marker, offsets)
            except Exception as error:
                if isinstance(error, PipelineError) or attempt == attempts or find_interruption(error):
                    raise
                logger.warning(
                    "sink %s: batch %d failed, starting it again (%d of %d): %s",
                    self.name,
                    marker.batch_id,
                    attempt,
                    attempts,
                    find_reason(error),
                )
            else:
                return

    def _try_batch(self, df: "DataFrame", marker: Marker, offsets: SourceOffsets) -> None:
        """Write a batch in one transaction; if this raises, none is open afterwards, unless its outcome is unknown."""
        topics = find_topics(self._topic, self._options.cluster)
        try:
            self._owner.begin()
            written = self._run_tasks(df, marker, offsets, topics)
            self._owner.add_partitions([row.target for row in written])
            self._send_offsets(marker, offsets, written, topics)
            self._commit()
        except FatalProducerError as error:
            raise PipelineError(f"sink {self.name} was stopped: {error}") from error
        except Exception as error:
            self._abort_after(error)
            raise
        self._marker = marker
        self._small_batches.note(offsets, written)
        self._sequences.update({row.target: row.next_sequence for row in written})
        logger.info("sink %s: batch %d, %d records", self.name, marker.batch_id, sum(row.records for row in written))

    def _run_tasks(self, df: "DataFrame", marker: Marker, offsets: SourceOffsets, topics: Topics) -> list[Written]:
        identity = self._owner.hand_out()
        if self._owner.is_v2 or identity != self._sequences_of:
            self._sequences, self._sequences_of = {}, identity
        transaction = Transaction(
            self._options,
            self.transactional_id,
            identity,
            adds_partitions=not self._owner.is_v2,
            sequences=dict(self._sequences),
            topic=self._topic,
        )
        if self._small_batches.is_small(offsets):
            tasks = df.coalesce(1).mapInArrow(OnlyTask(transaction, topics, marker.batch_id), REPORT_SCHEMA)
        else:
            tasks = self._placed(df, topics, marker.batch_id).mapInArrow(WriteTask(transaction), REPORT_SCHEMA)
        rows = tasks.collect()
        written = [
            Written(TopicPartition(row["topic"], row["partition"]), row["records"], row["next_sequence"], row["bytes"])
            for row in rows
        ]
        check_disjoint(written)
        return written

    def _placed(self, df: "DataFrame", topics: Topics, turn: int) -> "DataFrame":
        if self._placement is None or self._placement.topics != topics:
            self._placement = Placement(df.sparkSession, df.columns, topics, self._topic)
        return self._placement.place(df, turn=turn)

    def _send_offsets(self, marker: Marker, offsets: SourceOffsets, written: list[Written], topics: Topics) -> None:
        self._owner.send_offsets(self._existing(offsets), GroupMetadata(self.name))
        marked = self._place.offsets(marker, {row.target.topic for row in written}, topics.partition_counts)
        self._owner.send_offsets(marked, GroupMetadata(self.transactional_id))

    def _existing(self, offsets: SourceOffsets) -> dict[TopicPartition, int]:
        """Leave out topics of another cluster, whose groups are not here."""
        if not offsets:
            return {}
        described = self._client.admin.describe_topics({partition.topic for partition in offsets})
        for found in described.values():
            if found.error is not None and found.error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise found.error
        counts = {name: len(found.partitions) for name, found in described.items()}
        return {where: offset for where, offset in offsets.items() if where.partition < counts.get(where.topic, 0)}

    def _commit(self) -> None:
        self._repeat_until_answered(self._owner.commit, CommitInDoubt)

    def _abort(self) -> None:
        self._repeat_until_answered(self._owner.abort, RequestTimedOut)

    def _repeat_until_answered(self, end: Callable[[], None], in_doubt: type[ClientError]) -> None:
        try:
            repeat_until_answered(end, in_doubt)
        except in_doubt as error:
            raise EndInDoubt(
                f"sink {self.name}: the end of a transaction was not answered ({error}). Start the query again when "
                "the broker can be reached: it will find out whether the batch was written"
            ) from error

    def _abort_after(self, error: Exception) -> None:
        """Leave nothing open that would hold up readers; if that fails too, the next start does it."""
        if isinstance(error, EndInDoubt):
            return
        try:
            if not isinstance(error, AbortableError):
                self._owner.fail(RequestTimedOut("a task failed"))
            self._abort()
        except (ClientError, PipelineError) as failure:
            logger.warning("sink %s: the transaction of a failed batch was not aborted: %s", self.name, failure)
