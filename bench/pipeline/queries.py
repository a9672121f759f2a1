"""The queries, the same for each contender but for the names of its source and sink."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.pipeline.contenders import Contender
from bench.pipeline.job import Done, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCHES = 4
# A batch has a whole number of offsets of each partition, and all of them together have to be through in four.
ROUNDED_OFF = 100
_SERVERS = "kafka.bootstrap.servers"


class Queries:
    """One session's; a query that goes on until it is stopped is the only one then."""

    def __init__(self, spark: "SparkSession", contender: Contender) -> None:
        self._spark = spark
        self._contender = contender
        self._going_on: StreamingQuery | None = None
        self._by_name: dict[str, Callable[[Job], Done]] = {
            "count": self._count,
            "read": self._read,
            "parquet": self._parquet,
            "stream": self._stream,
            "stream-parquet": self._stream_parquet,
            "copy": self._copy,
            "start-copy": self._start_copy,
        }

    def run(self, job: Job) -> Done:
        return self._stop() if job.query == "stop" else self._by_name[job.query](job)

    def _batch(self, job: Job) -> "DataFrame":
        reader = self._spark.read.format(self._contender.source).option(_SERVERS, job.bootstrap)
        return reader.option("subscribe", job.source).option("startingOffsets", "earliest").load()

    def _micro_batches(self, job: Job) -> "DataFrame":
        reader = self._spark.readStream.format(self._contender.source).option(_SERVERS, job.bootstrap)
        if job.rows:
            reader = reader.option("maxOffsetsPerTrigger", -(-job.rows // BATCHES) + ROUNDED_OFF)
        return reader.option("subscribe", job.source).option("startingOffsets", "earliest").load()

    def _count(self, job: Job) -> Done:
        started = time.monotonic()
        found = self._batch(job).count()
        assert found == job.rows, f"{found} rows of {job.rows}"
        return Done(time.monotonic() - started)

    def _read(self, job: Job) -> Done:
        started = time.monotonic()
        self._batch(job).write.format("noop").mode("overwrite").save()
        return Done(time.monotonic() - started)

    def _parquet(self, job: Job) -> Done:
        started = time.monotonic()
        self._batch(job).write.parquet(f"{job.directory}/rows")
        return Done(time.monotonic() - started)

    def _stream(self, job: Job) -> Done:
        return self._until_all_is_read(job, self._micro_batches(job).writeStream.format("noop"))

    def _stream_parquet(self, job: Job) -> Done:
        files = self._micro_batches(job).writeStream.format("parquet").option("path", f"{job.directory}/rows")
        return self._until_all_is_read(job, files)

    def _until_all_is_read(self, job: Job, writer: "DataStreamWriter") -> Done:
        started = time.monotonic()
        stored = writer.option("checkpointLocation", f"{job.directory}/checkpoint")
        return _finished(stored.trigger(availableNow=True).start(), started)

    def _copy(self, job: Job) -> Done:
        started = time.monotonic()
        return _finished(self._into_topic(job, {"availableNow": True}), started)

    def _start_copy(self, job: Job) -> Done:
        started = time.monotonic()
        self._going_on = self._into_topic(job, None)
        return Done(time.monotonic() - started)

    def _stop(self) -> Done:
        assert self._going_on is not None, "nothing was started"
        started = time.monotonic()
        if (failure := self._going_on.exception()) is not None:
            raise failure
        self._going_on.stop()
        return Done(time.monotonic() - started)

    def _into_topic(self, job: Job, trigger: dict[str, bool] | None) -> "StreamingQuery":
        rows = self._micro_batches(job).select("key", "value")
        checkpoint = f"{job.directory}/checkpoint"
        if self._contender.sink is None:
            from ottla.pipeline import write_topic

            options = {_SERVERS: job.bootstrap}
            # The topic is new for each query, and so is the sink.
            return write_topic(
                rows, name=job.target, topic=job.target, checkpoint=checkpoint, options=options, trigger=trigger
            )
        writer = rows.writeStream.format(self._contender.sink).option(_SERVERS, job.bootstrap)
        writer = writer.option("topic", job.target).option("checkpointLocation", checkpoint)
        return (writer if trigger is None else writer.trigger(**trigger)).start()


def _finished(query: "StreamingQuery", started: float) -> Done:
    query.awaitTermination()
    took = time.monotonic() - started
    batches_ms = sum(progress["durationMs"]["triggerExecution"] for progress in query.recentProgress)
    return Done(took, batches_ms / 1000)
