"""Choosing the partition of each row, and putting all rows of a partition into one task.

Rows with a number in their column `partition` go there; rows with a key go where Kafka's own clients put it (murmur2 of
its bytes); rows without either are spread in turn. Everything here is one expression and one shuffle of Spark: murmur2
is a method of Commons Codec, which every Spark carries, so no row passes through Python before it is written.
`row_placement` does the same for the rows of one task.

A partition has one writer, because brokers tell a duplicate from a new batch by the sequence of one producer in one
partition. Rows that came from one split of the source keep their order.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline.cluster_options import cluster_options
from ottla.pipeline.writing.record_columns import check_columns
from ottla.pipeline.writing.writable_topics import Topics, find_topics

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Columns of our own, beside those of records.
_COUNT: Final = "ottla_partition_count"
_BASE: Final = "ottla_slots_before"
# Kafka's, as a signed number.
_MURMUR2_SEED: Final = 0x9747B28C - (1 << 32)
# How many tasks start their turns differently.
_BEGINNINGS: Final = 16


def partitioned(df: "DataFrame", *, topic: str | None = None, options: Mapping[str, str] | None = None) -> "DataFrame":
    """Add the columns `topic` and `partition` that each row goes to, and put all rows of a partition into one task.

    For those who write them in a transaction with `write.format("ottla")`.
    """
    from pyspark.sql import functions as F

    check_columns(df.schema, topic)
    topics = find_topics(topic, cluster_options(options or {}))
    placed = Placement(df.sparkSession, df.columns, topics, topic).place(df)
    return placed if topic is None else placed.withColumn("topic", F.lit(topic))


class Placement:
    """How rows with certain columns are placed; made once for many batches, because it takes many calls of the JVM."""

    def __init__(self, spark: "SparkSession", columns: Sequence[str], topics: Topics, topic: str | None) -> None:
        from pyspark.sql import functions as F

        self.topics = topics
        self._task_count = max(1, min(topics.slot_count, spark.sparkContext.defaultParallelism))
        self._topic_table = _topic_table(spark, topics) if topic is None else None
        count, self._slot = F.lit(topics.slot_count), F.col("partition")
        if topic is None:
            named = F.coalesce("topic", F.lit("null"))
            told = F.concat(F.lit("PipelineError: a row goes to a topic that does not exist: "), named)
            count = F.coalesce(F.col(_COUNT), F.raise_error(told).cast("int"))
            self._slot = F.col(_BASE) + F.col("partition")
        self._count = count
        self._choices = _choices(columns, count)
        kept = [name for name in ("topic", "key", "value", "timestamp", "headers") if name in columns]
        if topic is not None and "topic" in kept:
            kept.remove("topic")
        self._kept = [
            F.col(name).cast("binary").alias(name) if name in ("key", "value") else F.col(name) for name in kept
        ]

    def place(self, df: "DataFrame", *, turn: int = 0) -> "DataFrame":
        """Put rows into tasks by their partitions; `turn` rotates where rows without a key start."""
        from pyspark.sql import functions as F

        if self._topic_table is not None:
            df = df.join(F.broadcast(self._topic_table), "topic", "left")
        target = F.coalesce(*self._choices, F.pmod(_in_turn(turn), self._count))
        columns = [*self._kept, target.cast("int").alias("partition")]
        if self._topic_table is None:
            return df.select(*columns).repartitionById(self._task_count, self._slot)
        return df.select(*columns, _BASE).repartitionById(self._task_count, self._slot).drop(_BASE)


def _topic_table(spark: "SparkSession", topics: Topics) -> "DataFrame":
    """How many partitions each topic has, and how many those before it in the row of all have.

    For a join: a cluster may have thousands of topics, and an expression would search one by one.
    """
    from pyspark.sql import functions as F

    table = []
    base = 0
    for name, count in sorted(topics.partition_counts.items()):
        table.append({"topic": name, _COUNT: count, _BASE: base})
        base += count
    kind = f"array<struct<topic:string,{_COUNT}:int,{_BASE}:int>>"
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(table)), kind)))


def _choices(columns: Sequence[str], count: "Column") -> "list[Column]":
    """The partition that a row names, and the one of its key; null where it has none."""
    from pyspark.sql import functions as F

    choices: list[Column] = []
    if "partition" in columns:
        given = F.col("partition")
        where = F.concat(given.cast("string"), F.lit(" of a topic with "), count.cast("string"))
        problem = F.concat(F.lit("PipelineError: a row goes to partition "), where)
        wrong = (given < 0) | (given >= count)
        choices.append(F.when(wrong, F.raise_error(problem).cast("int")).otherwise(given))
    if "key" in columns:
        choices.append((_murmur2(F.col("key").cast("binary")).bitwiseAND(F.lit(0x7FFFFFFF))) % count)
    return choices


def _in_turn(turn: int) -> "Column":
    """Number the rows of a task: each task starts with another number, and each batch one further.

    Spark compiles a literal number into the code of a query, and would compile it again for each batch; an array is
    passed as data.
    """
    from pyspark.sql import functions as F

    beginnings = ", ".join(str(turn + number) for number in range(_BEGINNINGS))
    return F.expr(f"monotonically_increasing_id() + array({beginnings})[pmod(spark_partition_id(), {_BEGINNINGS})]")


def _murmur2(key: "Column") -> "Column":
    """Hash a key; null for null. Spark has no function for it, but an expression that calls a static method."""
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
