"""Which partition each row goes to, and all rows of a partition into one task.

Rows with a number in their column `partition` go there; rows with a key where Kafka's own clients put it (murmur2 of
its bytes); rows without either are spread in turn. Everything here is one expression and one shuffle of Spark: murmur2
is a method of Commons Codec, which every Spark carries, so no row passes through Python before it is written.

A partition has one writer, because brokers tell a repetition from a new batch by the sequence of one producer in one
partition. Rows that came from one split of the source keep their order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.cluster_options import ClusterOptions, cluster_options
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.writing.record_columns import check_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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

    count: Column
    base: Column
    if topic is not None:
        count, base = F.lit(topics.partition_counts[topic]), F.lit(0)
    else:
        count, base = _of_topic(topics)
    target = _target(df, count, turn)
    kept = [name for name in ("topic", "key", "value", "timestamp", "headers") if name in df.columns]
    if topic is not None and "topic" in kept:
        kept.remove("topic")
    columns = [F.col(name).cast("binary").alias(name) if name in ("key", "value") else F.col(name) for name in kept]
    placed = df.select(*columns, target.cast("int").alias("partition"))
    if is_small:
        return placed.coalesce(1)
    tasks = max(1, min(topics.slot_count, df.sparkSession.sparkContext.defaultParallelism))
    slot = F.col("partition") if topic is not None else (base + F.col("partition"))
    return placed.repartitionById(tasks, slot.cast("int"))


def _of_topic(topics: Topics) -> "tuple[Column, Column]":
    """For a row: how many partitions its topic has, and how many those before it in the row of all have."""
    from pyspark.sql import functions as F

    names = sorted(topics.partition_counts)
    counts: list[Column] = []
    bases: list[Column] = []
    base = 0
    for name in names:
        counts += (F.lit(name), F.lit(topics.partition_counts[name]))
        bases += (F.lit(name), F.lit(base))
        base += topics.partition_counts[name]
    own = F.col("topic")
    problem = F.concat(
        F.lit("PipelineError: a row goes to a topic that does not exist: "), F.coalesce(own, F.lit("null"))
    )
    if not names:
        return F.raise_error(problem).cast("int"), F.lit(0)
    known = F.coalesce(F.try_element_at(F.create_map(*counts), own), F.raise_error(problem).cast("int"))
    return known, F.try_element_at(F.create_map(*bases), own)


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
