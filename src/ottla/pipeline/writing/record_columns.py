"""The columns that a record is made of: the names and types of Spark's Kafka sink, and timestamp."""

from typing import TYPE_CHECKING, Final

from ottla.pipeline.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_TYPES: Final = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int", "smallint", "tinyint"),
    "timestamp": ("timestamp", "timestamp_ntz"),
    "headers": ("array<struct<key:string,value:binary>>",),
}


def check_columns(schema: "StructType", topic: str | None) -> None:
    """Raise OptionError unless the columns are those of records."""
    found = {field.name: field.dataType.simpleString() for field in schema.fields}
    strange = sorted(found.keys() - _TYPES.keys())
    if strange:
        raise OptionError(
            f"a record has no {', '.join(strange)}: its columns are {', '.join(_TYPES)}. Put the rest into value, as "
            'in df.selectExpr("to_json(struct(*)) AS value")'
        )
    if "value" not in found:
        raise OptionError(f"there is no column value among {', '.join(found)}")
    for name, kind in found.items():
        # The text of a type does not say whether a field may be null.
        if kind not in _TYPES[name]:
            raise OptionError(f"column {name} is {kind}, but must be {' or '.join(_TYPES[name])}: cast it")
    if topic is None and "topic" not in found:
        raise OptionError("no topic is given: name it, or let the rows have a column topic")
