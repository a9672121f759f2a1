"""`spark.read.format("ottla")`: what the options say, between two offsets of each partition."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import ClusterView
from ottla.pipeline.source.options import SourceOptions
from ottla.pipeline.source.ranges import OffsetRange
from ottla.pipeline.source.resolving import resolve
from ottla.pipeline.source.splits import Split, available_core_count, pack, split_count

if TYPE_CHECKING:
    import pyarrow as pa


class OttlaBatchReader(DataSourceReader):
    """Plans on the driver, and reads on executors; it holds the options alone."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        options = self._options
        assert options.end is not None, "these are the options of a stream"
        view = ClusterView(options)
        partitions = view.partitions()
        fail = options.read.fail_on_data_loss
        start = resolve(view, options.start, partitions, fail_on_data_loss=fail)
        end = resolve(view, options.end, partitions, fail_on_data_loss=fail)
        if gone := partitions - (start.keys() & end.keys()):
            raise PipelineError(f"{min(gone)} was deleted while the batch was planned: run it again")
        ranges = [OffsetRange(*partition, start[partition], end[partition]) for partition in sorted(partitions)]
        total = sum(max(0, one.offset_count) for one in ranges)
        count = split_count(total, available_core_count(), options.min_partitions, options.max_records_per_partition)
        return list(pack(ranges, count))

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from ottla.pipeline.source.reading import read_split

        # If there is no split, Spark asks for the rows of an input partition that it made itself.
        return read_split(partition.ranges, self._options.read) if isinstance(partition, Split) else iter(())
