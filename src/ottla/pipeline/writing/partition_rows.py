"""The rows of a batch by the partition that they go to."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ottla.protocol.topic_partition import TopicPartition


def by_target(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """Group rows by partition, in order; none holds on to the memory of another partition's rows."""
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
    bounds = [0, *(np.flatnonzero(np.diff(places[order])) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        if start < end:
            row = order[start]
            yield (
                TopicPartition(str(topics[numbers[row]]), int(partitions[row])),
                batch.take(pa.array(order[start:end])),
            )
