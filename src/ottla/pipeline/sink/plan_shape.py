"""Whether what a query does with its records is little: then a small batch is best done by one task."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LITTLE = frozenset({"Project", "Filter", "SubqueryAlias"})


def is_projection(df: "DataFrame") -> bool:
    """Whether rows are only chosen and reshaped, one by one, from one source."""
    plan: Any = df._jdf.queryExecution().analyzed()
    while plan.children().size() == 1:
        if plan.nodeName() not in _LITTLE:
            return False
        plan = plan.children().apply(0)
    return bool(plan.children().isEmpty())
