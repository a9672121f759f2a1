"""What a task does with the rows of a micro-batch: write them in the driver's transaction, and report."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ottla.pipeline.writing.row_placement import RowPlacement
from ottla.pipeline.writing.transaction import Transaction, refuse_second_attempt, write_partitions
from ottla.pipeline.writing.writable_topics import Topics

REPORT_SCHEMA: Final = StructType(
    [StructField("topic", StringType())]
    + [StructField(name, LongType()) for name in ("partition", "records", "next_sequence", "bytes")]
)


class WriteTask:
    """What Spark runs on the rows of a task, for `mapInArrow`; it answers with a row for each partition."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        refuse_second_attempt()
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


class OnlyTask(WriteTask):
    """The same for the only task of a small batch, which finds out itself where its rows go."""

    def __init__(self, transaction: Transaction, topics: Topics, turn: int) -> None:
        super().__init__(transaction)
        self._topics = topics
        self._turn = turn

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        placement = RowPlacement(self._topics, self._transaction.topic, self._turn)
        return super().__call__(placement.placed(batches))
