"""Estimating how many bytes an offset of each partition takes: by fetching a little from where a batch starts.

For `maxBytesPerTrigger`. The bytes are those of the log, compressed as they are there. When records change their size
the average of a sample is wrong, so the limit is approximate; each batch takes a new sample.
"""

from collections.abc import Mapping

from ottla.pipeline.source.cluster_view import ClusterView
from ottla.protocol.record_batch import iterate_headers
from ottla.protocol.topic_partition import TopicPartition

SAMPLE_BYTES = 64 * 1024
# The estimate until a partition has given a sample: its next records may be gone or invisible.
UNKNOWN_OFFSET_BYTES = 1024.0


def bytes_per_offset(batches: memoryview) -> float | None:
    """The average over some batches; None if there are none."""
    headers = [header for _, header in iterate_headers(batches)]
    if not headers:
        return None
    return len(batches) / max(1, headers[-1].next_offset - headers[0].base_offset)


class OffsetSizes:
    """The averages of one stream, kept from batch to batch."""

    def __init__(self) -> None:
        self._sizes: dict[TopicPartition, float] = {}

    def of(
        self,
        view: ClusterView,
        start: Mapping[TopicPartition, int],
        lag: Mapping[TopicPartition, int],
        limit_bytes: int,
    ) -> dict[TopicPartition, float]:
        """Estimate the averages of the partitions with a lag; brokers are asked unless everything surely fits."""
        known = all(partition in self._sizes for partition in lag)
        if not known or 2 * sum(size * self._sizes[partition] for partition, size in lag.items()) > limit_bytes:
            samples = view.samples({partition: start[partition] for partition in lag}, SAMPLE_BYTES) if lag else {}
            for partition, batches in samples.items():
                size = bytes_per_offset(batches)
                if size is not None:
                    self._sizes[partition] = size
        return {partition: self._sizes.get(partition, UNKNOWN_OFFSET_BYTES) for partition in lag}
