"""`spark.readStream.format("ottla")`: where each micro-batch begins and ends.

Spark keeps this object in a process of its own on the driver for as long as the query runs, and asks it in this order:
where to start (only for a query without a checkpoint), then for each batch where it ends, what the latest offsets are,
and how it is split. After a restart Spark asks for the splits of the last batch again, with the offsets that its
checkpoint holds, and expects the same rows.

Spark calls `commit` for a batch only when there is something for the next one: an idle stream would look as if it had
not read its last batch. But Spark asks repeatedly for the end of the next batch once the last one is done, and says
where that one ended: this is what `commitGroup` publishes.

Spark does not record where the first batch starts: after a crash in it, Spark asks for the start again, which may have
moved by then (`latest`), or lacks records that were deleted meanwhile. So the end of a first batch that is not empty
carries its start (see `offsets`), and only that one counts when the batch is run again. An end without a start is that
of an empty first batch, or was written by Spark's own connector: nothing after it is read.

Guarantees. The end of a batch is never after what brokers had when it was planned, so a task never waits for records.
Brokers are asked once for each batch: partitions and latest offsets when its end is chosen, and the beginnings of
partitions that are new. With Trigger.AvailableNow the end of the query is what was there at its start.
"""

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import ClusterView
from ottla.pipeline.source.group_commits import GroupCommits
from ottla.pipeline.source.limits import lag_of, limit_end, should_wait
from ottla.pipeline.source.offset_sizes import OffsetSizes
from ottla.pipeline.source.offsets import Offsets, OffsetsJson, from_json, listed, start_in, to_json, with_start
from ottla.pipeline.source.options import SourceOptions
from ottla.pipeline.source.ranges import REMEDY, PlannedRanges, plan_ranges, unknown_beginnings
from ottla.pipeline.source.resolving import resolve
from ottla.pipeline.source.splits import Split, available_core_count, pack_stream
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)


class OttlaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """See the module; the names are Spark's. Executors get a copy, for `read` only."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._view = ClusterView(options)
        self._sizes = OffsetSizes()
        self._commits = None if options.commit_group is None else GroupCommits(self._view, options.commit_group)
        self._latest: Offsets = {}
        self._beginnings: Offsets = {}
        self._gone: set[TopicPartition] = set()
        self._is_available_now = False
        self._available_now: Offsets | None = None
        self._last_batch_s = float("-inf")
        # Where the query starts, if this process was asked for it, and what it was asked for since.
        self._initial: Offsets | None = None
        self._has_chosen_an_end = False
        self._has_split = False

    def initialOffset(self) -> OffsetsJson:
        if self._initial is None:
            fail, partitions = self._options.read.fail_on_data_loss, self._view.partitions()
            self._initial = resolve(self._view, self._options.start, partitions, fail_on_data_loss=fail)
        return to_json(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return one of the limits: Spark has no kind for several, and only hands it back."""
        limits = self._options.trigger
        if limits.max_offsets is not None:
            return ReadMaxRows(limits.max_offsets)
        if limits.max_bytes is not None:
            return ReadMaxBytes(limits.max_bytes)
        return ReadAllAvailable() if limits.min_offsets is None else ReadMinRows(limits.min_offsets)

    def prepareForTriggerAvailableNow(self) -> None:
        self._is_available_now = True

    def latestOffset(self, start: OffsetsJson, limit: ReadLimit) -> OffsetsJson:
        begin = from_json(start)
        if self._commits is not None:
            self._commits.publish(begin, waits=self._is_available_now)
        self._latest = self._latest_after(begin) if self._available_now is None else self._available_now
        if self._is_available_now:
            self._available_now = self._latest
        # A query that is told to read everything at once (Trigger.Once) has no limits.
        has_limits = self._options.trigger.has_any and not isinstance(limit, ReadAllAvailable)
        end = self._limited_end(begin) if has_limits else self._latest
        self._has_chosen_an_end = True
        if end == begin:
            # Exactly the same text, or Spark would see a new batch.
            return start
        is_first = begin == self._initial and not self._has_split
        return with_start(end, begin) if is_first else to_json(end)

    def reportLatestOffset(self) -> OffsetsJson | None:
        return to_json(self._latest) or None

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> list[InputPartition]:
        begin, until = self._begin_of(start, end), from_json(end)
        self._has_split = True
        planned = self._planned(begin, until)
        for loss in planned.losses:
            logger.warning("data was lost: %s; the query continues, because failOnDataLoss is false", loss)
        asked_for = (self._options.min_partitions, self._options.max_records_per_partition)
        return list(pack_stream(planned.ranges, available_core_count(), *asked_for))

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from ottla.pipeline.source.reading import read_split

        return read_split(partition.ranges, self._options.read) if isinstance(partition, Split) else iter(())

    def stop(self) -> None:
        if self._commits is not None:
            self._commits.close()

    def _begin_of(self, start: OffsetsJson, end: OffsetsJson) -> Offsets:
        """Find where the batch really starts, if it is the first one and is run again."""
        begin, carried = from_json(start), start_in(end)
        if carried is not None and start_in(start) is None:
            return carried
        if self._initial is not None and not self._has_chosen_an_end:
            return {partition: min(begin.get(partition, until), until) for partition, until in from_json(end).items()}
        return begin

    def _latest_after(self, begin: Offsets) -> Offsets:
        """Find where all partitions end now; PipelineError if data was lost that must not be."""
        latest = self._view.latest(begin)
        gone = {partition: offset for partition, offset in begin.items() if partition not in latest}
        if self._options.read.fail_on_data_loss:
            self._planned(begin, latest)
        elif gone.keys() - self._gone:
            logger.warning("%s are gone; the query continues, because failOnDataLoss is false", listed(gone))
        self._gone = set(gone)
        return latest | gone

    def _planned(self, begin: Offsets, until: Offsets) -> PlannedRanges:
        planned = plan_ranges(begin, until, self._beginnings_of(unknown_beginnings(begin, until)))
        if planned.losses and self._options.read.fail_on_data_loss:
            raise PipelineError(f"data was lost: {planned.losses[0]}. {REMEDY}")
        return planned

    def _limited_end(self, begin: Offsets) -> Offsets:
        limits = self._options.trigger
        first = {**begin, **self._beginnings_of(unknown_beginnings(begin, self._latest))}
        lag = lag_of(first, self._latest)
        now_s = time.monotonic()
        # What is there now is all there will be: waiting for more would never end.
        if not self._is_available_now and should_wait(lag, limits, (now_s - self._last_batch_s) * 1000):
            return begin
        self._last_batch_s = now_s
        sizes = {} if limits.max_bytes is None else self._sizes.of(self._view, first, lag, limits.max_bytes)
        return limit_end(first, self._latest, limits, sizes)

    def _beginnings_of(self, partitions: set[TopicPartition]) -> Offsets:
        """Ask for beginnings once: when the end of a batch is chosen, or else when it is split."""
        missing = partitions - self._beginnings.keys()
        known = {partition: self._beginnings[partition] for partition in partitions - missing}
        self._beginnings = known | self._view.earliest(missing)
        return self._beginnings
