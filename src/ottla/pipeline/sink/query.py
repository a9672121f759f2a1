"""Starting a query whose output goes into a topic exactly once."""

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ottla.pipeline.errors import OptionError, PipelineError
from ottla.pipeline.sink.checkpoint import Checkpoint
from ottla.pipeline.sink.exactly_once import ID_PREFIX, ExactlyOnceSink
from ottla.pipeline.sink.options import sink_options
from ottla.pipeline.sink.plan_shape import does_little, reads_from_group, source_options
from ottla.pipeline.spark_session import is_local
from ottla.pipeline.writing.record_columns import check_columns
from ottla.pipeline.writing.writable_topics import find_topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

logger = logging.getLogger(__name__)

_OUTPUT_MODES = ("append", "update", "complete")
_TRIGGERS = {"processingTime": "10 seconds", "availableNow": True, "once": True}
# Spark's default, and what keeps it from running a stage again. Spark does not count attempts that failed because an
# executor was decommissioned.
_NO_STAGE_TWICE = (
    ("spark.stage.maxConsecutiveAttempts", "4", "1"),
    ("spark.stage.ignoreDecommissionFetchFailure", "true", "false"),
)


def write_topic(
    df: "DataFrame",
    *,
    name: str,
    topic: str | None = None,
    checkpoint: str | os.PathLike[str],
    output_mode: str = "append",
    options: Mapping[str, str] | None = None,
    trigger: Mapping[str, Any] | None = None,
) -> "StreamingQuery":
    """Write a stream into a topic, or into those that a column `topic` names, each row exactly once.

    `name` is permanent: the sink's transactional id, its marker and the group with the source's offsets are derived
    from it, and one query at a time may use it. `options` are those of a Kafka sink (`kafka.bootstrap.servers`, ...),
    `trigger` the arguments of Spark's `DataStreamWriter.trigger`.
    """
    place = os.fspath(checkpoint) if isinstance(checkpoint, os.PathLike) else checkpoint
    _check(df, name, place, output_mode)
    _check_trigger(trigger)
    spark = df.sparkSession
    settings = sink_options(options or {})
    check_columns(df.schema, topic)
    find_topics(topic, settings.cluster)
    found = Checkpoint(spark, place)
    sink = ExactlyOnceSink(name, topic, settings, found, does_little=does_little(df))
    marker = sink.open()
    if marker is not None and found.query_id() is None and not reads_from_group(df, name):
        logger.warning(
            "sink %s has written batches of another query (%s) before. This one begins with a new checkpoint: it goes "
            "on where the output ends if its source has startingOffsets=committed and kafka.group.id=%s; otherwise it "
            "writes what the source reads, and some of it may be there already",
            name,
            marker.query_id,
            name,
        )
    writer = df.writeStream.queryName(name).outputMode(output_mode).option("checkpointLocation", place)
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.foreachBatch(sink).start()


def _check(df: "DataFrame", name: str, checkpoint: str, output_mode: str) -> None:
    if not hasattr(df, "_jdf"):
        raise PipelineError(
            "write_topic needs a classic Spark session: a Spark Connect client cannot own a transaction"
        )
    if not df.isStreaming:
        raise OptionError(
            "write_topic writes streams, and this DataFrame is a batch: df.write.format('ottla') writes it"
        )
    if not isinstance(name, str) or not name.strip():
        raise OptionError(f"name={name!r}: a sink needs a name, under which it continues after a restart")
    if not isinstance(checkpoint, str) or not checkpoint.strip():
        raise OptionError(f"checkpoint={checkpoint!r}: a sink needs a directory in which Spark records its progress")
    if output_mode not in _OUTPUT_MODES:
        raise OptionError(f"output_mode={output_mode!r} is not one of {', '.join(_OUTPUT_MODES)}")
    _check_attempts(df.sparkSession)
    for group_id in (found.get("commitGroup") for found in source_options(df)):
        if group_id in (name, ID_PREFIX + name):
            raise OptionError(
                f"commitGroup={group_id}: that group is the sink's own, which commits these offsets with each batch. "
                "Leave commitGroup out"
            )
    if any(query.name == name for query in df.sparkSession.streams.active):
        raise PipelineError(f"a query of the name {name} runs already in this session: stop it first")


def _check_trigger(trigger: object) -> None:
    if trigger is None:
        return
    if not isinstance(trigger, Mapping) or not trigger.keys() <= _TRIGGERS.keys():
        examples = ", ".join(f"{{{name!r}: {value!r}}}" for name, value in _TRIGGERS.items())
        raise OptionError(f"trigger={trigger!r} is not one of those of Spark that make batches: {examples}")


def _check_attempts(spark: "SparkSession") -> None:
    """Refuse settings that allow two attempts of a task at once: both could write into one transaction.

    The tasks themselves notice an attempt that follows another. On one machine no executors are lost, for which stages
    are repeated while some of their tasks still run.
    """
    context = spark.sparkContext
    if context.getConf().get("spark.speculation", "false").lower() == "true":
        raise PipelineError(
            "spark.speculation=true starts tasks twice, which a transaction does not allow: set it to false"
        )
    if is_local(context.master or ""):
        return
    for setting, default, needed in _NO_STAGE_TWICE:
        if context.getConf().get(setting, default).lower() != needed:
            raise PipelineError(
                f"on a cluster a sink needs {setting}={needed}, from the start of the session on "
                "(ottla.pipeline.session sets it): a batch is repeated as a whole, in a new transaction, and never a "
                "stage"
            )
