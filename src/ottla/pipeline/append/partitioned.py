"""`ottla.pipeline.partitioned`: rows in tasks by where they go, for those who write them in a transaction."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.pipeline.cluster_options import cluster_options
from ottla.pipeline.writing.placement import Placement
from ottla.pipeline.writing.record_columns import check_columns
from ottla.pipeline.writing.writable_topics import find_topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def partitioned(df: "DataFrame", *, topic: str | None = None, options: Mapping[str, str] | None = None) -> "DataFrame":
    """The rows with the columns `topic` and `partition` that they go to, each partition in one task."""
    from pyspark.sql import functions as F

    check_columns(df.schema, topic)
    topics = find_topics(topic, cluster_options(options or {}))
    placed = Placement(df.sparkSession, df.columns, topics, topic).place(df)
    return placed if topic is None else placed.withColumn("topic", F.lit(topic))
