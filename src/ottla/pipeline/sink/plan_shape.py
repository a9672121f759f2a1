"""What the plan of a query tells: whether it does little with its records, and where its sources begin."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LITTLE = frozenset({"Project", "Filter", "SubqueryAlias"})


def is_projection(df: "DataFrame") -> bool:
    """Whether rows are only chosen and reshaped, one by one, from one source: one task does little of that best."""
    plan: Any = df._jdf.queryExecution().analyzed()
    while plan.children().size() == 1:
        if plan.nodeName() not in _LITTLE:
            return False
        plan = plan.children().apply(0)
    return bool(plan.children().isEmpty())


def reads_from_group(df: "DataFrame", group_id: str) -> bool:
    """Whether a source begins at the committed offsets of a group, and none anywhere else that is known."""
    leaves: Any = df._jdf.queryExecution().analyzed().collectLeaves()
    options = [
        leaf.extraOptions() for leaf in (leaves.apply(n) for n in range(leaves.size())) if hasattr(leaf, "extraOptions")
    ]
    starts = [(found.get("startingOffsets"), found.get("kafka.group.id")) for found in options]
    return bool(starts) and all(start == ("committed", group_id) for start in starts)
