import pytest
from pyspark.sql.types import StructType

from ottla.pipeline.errors import OptionError
from ottla.pipeline.writing.record_columns import check_columns


def schema(columns: str) -> StructType:
    made = StructType()
    for column in columns.split(", "):
        made.add(*column.split())
    return made


@pytest.mark.parametrize("columns", ["value string", "key binary, value binary", "value string, timestamp timestamp"])
def test_the_columns_of_records_may_be_written(columns: str) -> None:
    check_columns(schema(columns), "t")


@pytest.mark.parametrize(
    ("columns", "topic", "why"),
    [
        ("key string", "t", "there is no column value among key"),
        ("value integer", "t", "column value is int, but must be string or binary"),
        ("value string, amount integer", "t", "a record has no amount"),
        ("value string, partition long", "t", "column partition is bigint"),
        ("value string", None, "no topic is given"),
    ],
)
def test_other_columns_are_refused_with_the_remedy(columns: str, topic: str | None, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        check_columns(schema(columns), topic)
