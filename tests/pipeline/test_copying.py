"""What a record becomes on its way through `ottla pipeline copy`: Spark's SQL over rows, without a broker."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from ottla.pipeline.copying import Transformation, first_records, transform
from ottla.pipeline.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key:string,value:binary>>"
)
WHEN = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)
HEADERS = [("trace", b"\xff")]

Copied = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def copied(spark: "SparkSession") -> Copied:
    """What values (or rows of key and value) become."""

    def run(rows: list[Any], **asked: Any) -> list[dict[str, Any]]:
        pairs = [row if isinstance(row, tuple) else (b"k", row) for row in rows]
        given = [(key, value, "t", 3, number, WHEN, 0, HEADERS) for number, (key, value) in enumerate(pairs)]
        return [
            row.asDict(recursive=True)
            for row in transform(spark.createDataFrame(given, SCHEMA), Transformation(**asked)).collect()
        ]

    return run


def test_what_no_expression_touches_passes_as_it_is(copied: Copied) -> None:
    [row] = copied([(b"\xfe", b"\xff\x00")])
    assert row == {
        "key": b"\xfe",
        "value": b"\xff\x00",
        "headers": [{"key": "trace", "value": b"\xff"}],
        "timestamp": WHEN.replace(tzinfo=None),
    }
    assert copied([(b"\xfe", b"\xff\x00")], where="key is not null and partition = 3") == [row]
    assert copied([(None, None)])[0]["value"] is None


def test_a_condition_chooses_among_records(copied: Copied) -> None:
    rows = copied([b"1", b"20", b"3"], where="value::int > 2")
    assert [bytes(row["value"]) for row in rows] == [b"20", b"3"]


def test_json_of_any_shape_is_looked_into_and_what_is_none_is_null(copied: Copied) -> None:
    values = [b'{"price": 12}', b"no JSON", b'{"price": "dear"}', b'[{"price": 3}]', None]
    rows = copied(values, is_json=True, where="try_cast(value:price as double) > 10")
    assert [bytes(row["value"]) for row in rows] == values[:1]
    assert len(copied(values, is_json=True, where="value is null")) == 2
    assert copied(values[3:4], is_json=True, select="value:[0].price as value")[0]["value"] == "3"


def test_json_of_a_schema_has_fields(copied: Copied) -> None:
    rows = copied(
        [b'{"item": "tea", "price": 12}', b"{}"], schema="item string, price double", where="value.price > 10"
    )
    assert [bytes(row["value"]) for row in rows] == [b'{"item": "tea", "price": 12}']


def test_one_column_named_value_is_the_value(copied: Copied) -> None:
    [row] = copied([b"tea"], select="upper(value) as value, concat(key, '!') as key")
    assert (row["key"], row["value"]) == ("k!", "TEA")
    assert row["headers"] == [{"key": "trace", "value": b"\xff"}]
    assert copied([b"tea"], select="length(value) as value")[0]["value"] == "3"
    assert copied([b'{"a": [1]}'], is_json=True, select="value")[0]["value"] == '{"a":[1]}'


def test_other_columns_become_a_json_object_and_nulls_stay_in_it(copied: Copied) -> None:
    [row] = copied([b"tea"], select="value as item, null as note, offset, 1 as partition")
    assert json.loads(row["value"]) == {"item": "tea", "note": None, "offset": 0}
    assert row["partition"] == 1
    assert bytes(row["key"]) == b"k"


def test_only_the_key_may_be_changed(copied: Copied) -> None:
    [row] = copied([b"\xff"], select="'new' as key")
    assert (row["key"], bytes(row["value"])) == ("new", b"\xff")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"where": "valu = 'x'"}, r"^--where: .*`valu` cannot be resolved. Did you mean .*`value`"),
        ({"where": "value ="}, r"^--where: Syntax error at or near end of input"),
        ({"select": "value, offset"}, r"gives value and offset beside it"),
        ({"is_json": True, "where": "value:price > 10"}, r"value:price::double > 10"),
        ({"is_json": True, "where": "value.price > 10"}, r"--schema 'price double"),
        ({"schema": "price dubble"}, "^--schema: (?i:.*dubble)"),
    ],
)
def test_sql_that_means_nothing_is_refused_in_a_line(copied: Copied, asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(OptionError, match=reason) as refused:
        copied([b"x"], **asked)
    assert "\n" not in str(refused.value)


def test_the_first_records_are_shown_as_text(spark: "SparkSession") -> None:
    given = [(b"k", b"%d" % number, "t", 0, number, WHEN, 0, None) for number in range(9)]
    shown = first_records(spark.createDataFrame(given, SCHEMA), Transformation(where="offset > 3"), 2)
    assert shown == [{"key": "k", "value": "4"}, {"key": "k", "value": "5"}]
