"""Choosing the partition of each row of a task, whole columns at a time.

Rows with a number in their column `partition` go there; rows with a key go where Kafka's own clients put it; rows
without either take the partitions of their topic in turn. Each task starts somewhere else, so that many small tasks do
not all fill the first partitions.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ottla.client.columns import partitions_of_keys
from ottla.pipeline.errors import PipelineError

_NOWHERE = -1


class PartitionCounts(Protocol):
    """How many partitions topics have; PipelineError for one that cannot be written to."""

    def partition_count(self, topic: str, *, is_fresh: bool = False) -> int: ...


class RowPlacement:
    """Fills the column `partition` of rows."""

    def __init__(self, topics: PartitionCounts, topic: str | None, first_turn: int) -> None:
        self._topics = topics
        self._topic = topic
        self._first_turn = first_turn
        self._turns: dict[str, int] = {}

    def placed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches that have rows, each row with its partition."""
        return (self._place(batch) for batch in batches if batch.num_rows)

    def _place(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._topic is not None:
            targets = self._of_topic(self._topic, batch)
        else:
            targets = np.full(batch.num_rows, _NOWHERE, np.int32)
            encoded = _named_topics(batch).dictionary_encode()
            numbers = encoded.indices.to_numpy(zero_copy_only=False)
            for number, topic in enumerate(encoded.dictionary.to_pylist()):
                rows = np.flatnonzero(numbers == number)
                whole = len(rows) == batch.num_rows
                targets[rows] = self._of_topic(topic, batch if whole else batch.take(pa.array(rows)))
        column = pa.array(targets, pa.int32())
        at = batch.schema.get_field_index("partition")
        return batch.append_column("partition", column) if at < 0 else batch.set_column(at, "partition", column)

    def _of_topic(self, topic: str, batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
        count = self._topics.partition_count(topic)
        targets = np.full(batch.num_rows, _NOWHERE, np.int32)
        if "partition" in batch.schema.names:
            given = batch.column("partition").cast(pa.int32())
            count = self._checked_count(topic, count, given)
            targets = pc.fill_null(given, _NOWHERE).to_numpy(zero_copy_only=False).copy()
        if "key" in batch.schema.names and (open_rows := np.flatnonzero(targets == _NOWHERE)).size:
            targets[open_rows] = partitions_of_keys(batch.column("key").take(pa.array(open_rows)), count)
        if (open_rows := np.flatnonzero(targets == _NOWHERE)).size:
            turn = self._turns.get(topic, self._first_turn)
            targets[open_rows] = (turn + np.arange(open_rows.size)) % count
            self._turns[topic] = (turn + open_rows.size) % count
        return targets

    def _checked_count(self, topic: str, count: int, given: pa.Array) -> int:
        """Count the partitions, again if a row names a later one; PipelineError if that does not exist."""
        bounds = pc.min_max(given).as_py()
        if bounds["max"] is None:
            return count
        if bounds["max"] >= count:
            count = self._topics.partition_count(topic, is_fresh=True)
        for wanted in (bounds["min"], bounds["max"]):
            if not 0 <= wanted < count:
                raise PipelineError(
                    f"a row goes to partition {wanted} of topic {topic}, which has {count} (from 0): change the column "
                    "partition, or leave it null for the key to decide"
                )
        return count


def _named_topics(batch: pa.RecordBatch) -> pa.Array:
    topics = batch.column("topic")
    if topics.null_count:
        raise PipelineError(
            "a row has null in its column topic: fill it, or name one topic for all rows with the option topic"
        )
    return topics
