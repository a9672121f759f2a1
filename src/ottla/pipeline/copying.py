"""Copying one topic into another, with SQL in between: how a row of the source becomes a record of the target.

Expressions see `key` and `value` as strings, `value` parsed if it is JSON, and the other columns of the source. What
they do not touch is copied byte by byte: key, value, headers and timestamp.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.pipeline.errors import OptionError
from ottla.pipeline.failures import explain_failure, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The name under which Spark reports how many values were not JSON.
METRIC: Final = "copy"
NOT_JSON: Final = "not JSON"

_ORIGINAL: Final = "_original"
_CHOSEN: Final = "_chosen"
_OWN_COLUMNS: Final = ("key", "value", "headers", "timestamp", "partition")


@dataclass(frozen=True, slots=True)
class Transformation:
    """What to do with each record: a condition, the columns of the new one, and how to read its value."""

    where: str | None = None
    select: str | None = None
    is_json: bool = False
    schema: str | None = None


def transform(rows: "DataFrame", asked: Transformation) -> "DataFrame":
    """Make records for a sink from a source's rows; OptionError if an expression is invalid."""
    from pyspark.sql import functions as F

    with _errors_of("--schema", asked):
        read = _readable(rows, asked)
    if asked.where is not None:
        with _errors_of("--where", asked):
            read = read.where(asked.where)
    if asked.select is None:
        return read.select(f"{_ORIGINAL}.*")
    with _errors_of("--select", asked):
        return _record(read.select(_ORIGINAL, F.expr(f"struct({asked.select})").alias(_CHOSEN)))


@contextmanager
def _errors_of(option: str, asked: Transformation) -> Iterator[None]:
    """Turn Spark's complaint about an expression into an error of its option."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        reason = explain_failure(error).removesuffix(".")
        raise OptionError(f"{option}: {reason}{_hint(error, asked)}") from None


def first_records(rows: "DataFrame", asked: Transformation, count: int) -> list[dict[str, object]]:
    """Show what the first rows of a batch become, as text."""
    from pyspark.sql import functions as F

    text = [F.col(name).cast("string").alias(name) for name in ("key", "value")]
    records = transform(rows, asked).select(*text)
    with spark_errors():
        return [row.asDict() for row in records.take(count)]


def _readable(rows: "DataFrame", asked: Transformation) -> "DataFrame":
    from pyspark.sql import functions as F

    original = F.struct("key", "value", "headers", "timestamp").alias(_ORIGINAL)
    text = F.col("value").cast("string")
    others = ("topic", "partition", "offset", "timestamp", "headers")
    is_parsed = asked.is_json or asked.schema is not None
    if is_parsed:
        broken = F.count_if(text.isNotNull() & F.try_parse_json(text).isNull()).alias(NOT_JSON)
        rows = rows.observe(METRIC, broken)
    value: Column = F.from_json(text, asked.schema) if asked.schema else F.try_parse_json(text) if is_parsed else text
    return rows.select(
        original, F.col("key").cast("string").alias("key"), value.alias("value"), *(F.col(name) for name in others)
    )


def _record(chosen: "DataFrame") -> "DataFrame":
    """The columns of a record: those that were chosen under their names, the rest of them as one JSON value."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    kind = chosen.schema[_CHOSEN].dataType
    assert isinstance(kind, StructType)
    types = {field.name: field.dataType.simpleString() for field in kind.fields}
    rest = [name for name in types if name not in _OWN_COLUMNS]
    if rest and "value" in types:
        raise OptionError(
            f"--select gives value and {', '.join(rest)} beside it: either name one value, or let all columns together "
            "become a JSON object"
        )
    columns = []
    for name in _OWN_COLUMNS:
        if name == "value" and rest:
            fields = F.struct(*(F.col(f"{_CHOSEN}.`{field}`") for field in rest))
            columns.append(F.to_json(fields, {"ignoreNullFields": "false"}).alias("value"))
        elif name in types:
            columns.append(_written(F.col(f"{_CHOSEN}.{name}"), name, types[name]).alias(name))
        elif name != "partition":
            columns.append(F.col(f"{_ORIGINAL}.{name}"))
    return chosen.select(*columns)


def _written(column: "Column", name: str, kind: str) -> "Column":
    """A column in the type that a record has."""
    from pyspark.sql import functions as F

    if name == "partition":
        return column.cast("int")
    if name not in ("key", "value") or kind in ("string", "binary"):
        return column
    if kind == "variant" or kind.startswith(("struct", "map", "array")):
        return F.to_json(column, {"ignoreNullFields": "false"})
    return column.cast("string")


def _hint(error: Exception, asked: Transformation) -> str:
    if asked.is_json and not asked.schema and "VARIANT" in str(error):
        return (
            ". With --json a field is written value:price, and its type said where it is compared or counted: "
            "value:price::double > 10. With --schema 'price double, ...' it is value.price > 10"
        )
    return ""
