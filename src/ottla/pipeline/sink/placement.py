"""Which partition each row goes to, and all rows of a partition into one task.

Rows with a number in their column `partition` go there; rows with a key where Kafka's own clients put it (murmur2 of
its bytes); rows without either are spread in turn. Everything here is one expression and one shuffle of Spark: murmur2
is a method of Commons Codec, which every Spark carries, so no row passes through Python before it is written.

A partition has one writer, because brokers tell a repetition from a new batch by the sequence of one producer in one
partition. Rows that came from one split of the source keep their order.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.cluster_options import ClusterOptions, cluster_options
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.writing.record_columns import check_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Columns of our own, beside those of records.
_COUNT: Final = "ottla_partition_count"
_BASE: Final = "ottla_slots_before"
# Kafka's, as a signed number.
_MURMUR2_SEED: Final = 0x9747B28C - (1 << 32)


@dataclass(frozen=True, slots=True)
class Topics:
    """The number of partitions of each topic that rows may go to."""

    partition_counts: Mapping[str, int]

    @property
    def slot_count(self) -> int:
        """All their partitions, in one row."""
        return sum(self.partition_counts.values())


def partitioned(df: "DataFrame", *, topic: str | None = None, options: Mapping[str, str] | None = None) -> "DataFrame":
    """The rows with the columns `topic` and `partition` that they go to, each partition in one task."""
    from pyspark.sql import functions as F

    check_columns(df.schema, topic)
    topics = find_topics(topic, cluster_options(options or {}))
    placed = place(df, topics, topic=topic)
    return placed if topic is None else placed.withColumn("topic", F.lit(topic))


def find_topics(topic: str | None, cluster: ClusterOptions) -> Topics:
    """The topics that rows may go to: the one, or with a column `topic` all that there are."""
    admin = client_of(cluster).admin
    names = [topic] if topic is not None else [found.name for found in admin.list_topics()]
    described = admin.describe_topics(names)
    counts = {name: len(found.partitions) for name, found in described.items() if found.error is None}
    if topic is not None and topic not in counts:
        raise PipelineError(
            f"topic {topic} cannot be written to at {cluster.bootstrap}: {described[topic].error}. If it does not "
            f"exist, create it: ottla -b {cluster.bootstrap} topics create {topic} --partitions 6"
        )
    return Topics(counts)


def place(df: "DataFrame", topics: Topics, *, topic: str | None, turn: int = 0, is_small: bool = False) -> "DataFrame":
    """The rows in tasks by where they go; `turn` rotates where rows without a key begin.

    A small batch goes into one task: that is cheaper than a shuffle.
    """
    from pyspark.sql import functions as F

    count, base = F.lit(topics.slot_count), F.lit(0)
    if topic is None:
        df, count, base = _looked_up(df, topics)
    target = _target(df, count, turn)
    kept = [name for name in ("topic", "key", "value", "timestamp", "headers") if name in df.columns]
    if topic is not None and "topic" in kept:
        kept.remove("topic")
    columns = [F.col(name).cast("binary").alias(name) if name in ("key", "value") else F.col(name) for name in kept]
    placed = df.select(*columns, target.cast("int").alias("partition"), base.alias(_BASE))
    if is_small:
        return placed.coalesce(1).drop(_BASE)
    tasks = max(1, min(topics.slot_count, df.sparkSession.sparkContext.defaultParallelism))
    return placed.repartitionById(tasks, F.col(_BASE) + F.col("partition")).drop(_BASE)


def _looked_up(df: "DataFrame", topics: Topics) -> "tuple[DataFrame, Column, Column]":
    """The rows, how many partitions the topic of each has, and how many those before it in the row of all have.

    By a join with a small table: a cluster may have thousands of topics, and an expression would search one by one.
    """
    from pyspark.sql import functions as F

    table = []
    base = 0
    for name, count in sorted(topics.partition_counts.items()):
        table.append({"topic": name, _COUNT: count, _BASE: base})
        base += count
    kind = f"array<struct<topic:string,{_COUNT}:int,{_BASE}:int>>"
    rows = df.sparkSession.range(1).select(F.inline(F.from_json(F.lit(json.dumps(table)), kind)))
    named = F.coalesce("topic", F.lit("null"))
    told = F.concat(F.lit("PipelineError: a row goes to a topic that does not exist: "), named)
    known = F.coalesce(F.col(_COUNT), F.raise_error(told).cast("int"))
    return df.join(F.broadcast(rows), "topic", "left"), known, F.col(_BASE)


def _target(df: "DataFrame", count: "Column", turn: int) -> "Column":
    from pyspark.sql import functions as F

    # Each task begins at another partition, and each batch one further.
    in_turn = F.pmod(F.monotonically_increasing_id() + F.spark_partition_id() + F.lit(turn), count)
    choices: list[Column] = []
    if "partition" in df.columns:
        given = F.col("partition")
        where = F.concat(given.cast("string"), F.lit(" of a topic with "), count.cast("string"))
        problem = F.concat(F.lit("PipelineError: a row goes to partition "), where)
        wrong = (given < 0) | (given >= count)
        choices.append(F.when(wrong, F.raise_error(problem).cast("int")).otherwise(given))
    if "key" in df.columns:
        choices.append((_murmur2(F.col("key").cast("binary")).bitwiseAND(F.lit(0x7FFFFFFF))) % count)
    return F.coalesce(*choices, in_turn)


def _murmur2(key: "Column") -> "Column":
    """Null for null. Spark has no function for it, but an expression that calls a static method."""
    from pyspark import SparkContext
    from pyspark.sql import functions as F
    from pyspark.sql.classic.column import Column as ClassicColumn

    context = SparkContext._active_spark_context
    assert context is not None, "there is a DataFrame, so there is a context"
    jvm: Any = context._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
    arguments = [expressions.expression(column._jc) for column in (key, F.octet_length(key), F.lit(_MURMUR2_SEED))]
    invocation = jvm.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke(
        jvm.java.lang.Class.forName("org.apache.commons.codec.digest.MurmurHash2"),
        jvm.org.apache.spark.sql.types.DataTypes.IntegerType,
        "hash32",
        jvm.PythonUtils.toSeq(arguments),
        jvm.PythonUtils.toSeq([]),
        True,  # null in, null out
        False,  # a number is never null
        True,  # the same for the same key
        jvm.scala.Option.empty(),
    )
    return ClassicColumn(expressions.column(invocation))
