"""What the plan of a query shows: whether it does little with its rows, and the options of its sources."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LITTLE = frozenset({"Project", "Filter", "SubqueryAlias"})
# With these the user has asked for several tasks.
_TASK_OPTIONS = ("minPartitions", "maxRecordsPerPartition")


def does_little(df: "DataFrame") -> bool:
    """Whether Spark itself only filters and reshapes rows, one by one, from one source: one task does it best."""
    plan: Any = df._jdf.queryExecution().analyzed()
    if plan.containsPattern(_python_udf(df.sparkSession)):
        return False
    while plan.children().size() == 1:
        if plan.nodeName() not in _LITTLE:
            return False
        plan = plan.children().apply(0)
    options = _options_of(plan)
    return bool(plan.children().isEmpty()) and all(options.get(name) is None for name in _TASK_OPTIONS)


def source_options(df: "DataFrame") -> list[Any]:
    """The options of each stream that a query reads, whose names are the same in upper and lower case."""
    leaves: Any = df._jdf.queryExecution().analyzed().collectLeaves()
    found = (leaves.apply(number) for number in range(leaves.size()))
    return [_options_of(leaf) for leaf in found if leaf.isStreaming()]


def reads_from_group(df: "DataFrame", group_id: str) -> bool:
    """Whether each source begins at the committed offsets of a group."""
    starts = [(found.get("startingOffsets"), found.get("kafka.group.id")) for found in source_options(df)]
    return bool(starts) and all(start == ("committed", group_id) for start in starts)


def _options_of(leaf: Any) -> Any:
    """Those of a source of the newer kind; others, such as files, have none that concern topics."""
    return leaf.extraOptions() if leaf.getClass().getSimpleName() == "StreamingRelationV2" else {}


def _python_udf(spark: "SparkSession") -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()
