"""JSON Schema as columns; what Spark has no type for is JSON text."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from ottla.pipeline.typed.column_kinds import MISFITS
from ottla.pipeline.typed.json_kinds import json_kind
from ottla.schemas.json_schema.json_format import JsonFormat

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def kind_of(schema: Any, references: dict[str, str] | None = None) -> Any:
    return json_kind(JsonFormat().parse(json.dumps(schema), references or {}))


def an_object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


# A schema, the column's type, a value, and its cell.
SAME = [
    ({"type": "string"}, "string", "ž", "ž"),
    ({"type": "integer"}, "bigint", 1, 1),
    ({"type": "number"}, "double", 0.5, 0.5),
    ({"type": "boolean"}, "boolean", True, True),
    ({"type": ["null", "integer"]}, "bigint", 1, 1),
    ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "bigint", 1, 1),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "bigint", 1, 1),
    ({"enum": ["a", "b"]}, "string", "a", "a"),
    ({"type": "string", "format": "date-time"}, "timestamp", "2026-01-31T12:00:00Z", NOON),
    ({"type": "string", "format": "date"}, "date", "2026-01-31", date(2026, 1, 31)),
    ({"type": "string", "format": "email"}, "string", "a@b", "a@b"),
    ({"type": "array", "items": {"type": "integer"}}, "array<bigint>", [1, 2], [1, 2]),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string,bigint>", {"a": 1}, [("a", 1)]),
    (an_object(a={"type": "integer"}), "struct<a:bigint>", {"a": 1}, {"a": 1}),
    ({"properties": {"a": {"type": "integer"}}}, "struct<a:bigint>", {"a": 1}, {"a": 1}),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "string", [1, "ž"], '[1,"ž"]'),
    ({"type": ["string", "integer"]}, "string", 1, "1"),
    ({"type": "array"}, "string", [1, "a"], '[1,"a"]'),
    ({"type": "object"}, "string", {"a": 1}, '{"a":1}'),
    ({"allOf": [{"type": "integer"}]}, "string", 1, "1"),
    ({"enum": ["a", 1]}, "string", "a", '"a"'),
    (True, "string", {"a": None}, '{"a":null}'),
]


@pytest.mark.parametrize(("schema", "column", "value", "cell"), SAME, ids=[str(one[0]) for one in SAME])
def test_a_schema_is_a_column_there_and_back(schema: Any, column: str, value: Any, cell: Any) -> None:
    kind = kind_of(schema)
    assert kind.spark_type.simpleString() == column
    assert kind.column([value, None]).to_pylist() == [cell, None]
    assert kind.value(cell) == value


def test_references_lead_to_types() -> None:
    schema = {"properties": {"a": {"$ref": "#/definitions/n"}, "b": {"$ref": "other.json"}}, "definitions": {"n": {"type": "integer"}}}  # fmt: skip  # noqa: E501
    kind = kind_of(schema, {"other.json": '{"type": "boolean"}'})
    assert kind.spark_type.simpleString() == "struct<a:bigint,b:boolean>"


def test_a_schema_within_itself_is_text_where_it_recurs() -> None:
    kind = kind_of({"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}})
    assert kind.spark_type.simpleString() == "struct<next:string,n:bigint>"
    value = {"n": 1, "next": {"n": 2, "next": {"n": 3}}}
    cell = {"next": '{"n":2,"next":{"n":3}}', "n": 1}
    assert kind.column([value]).to_pylist() == [cell]
    assert kind.value(cell) == value


def test_an_optional_property_without_a_value_is_left_out() -> None:
    kind = kind_of(an_object(("a", "b"), a={"type": "integer"}, b={"type": ["integer", "null"]}, c={"type": "integer"}))
    assert [field.nullable for field in kind.spark_type] == [False, True, True]
    assert kind.column([{"a": 1, "b": None}]).to_pylist() == [{"a": 1, "b": None, "c": None}]
    assert kind.value({"a": 1, "b": None, "c": None}) == {"a": 1, "b": None}


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert kind_of({"type": "integer"}).column([1.0]).to_pylist() == [1]


@pytest.mark.parametrize("text", ["yesterday", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z"])
def test_a_text_that_is_no_time_does_not_fit_a_column_of_times(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        kind_of({"type": "string", "format": "date-time"}).column([text])


def test_what_is_no_object_does_not_fit_a_column_of_objects() -> None:
    """A schema that says nothing of its type allows it."""
    with pytest.raises(MISFITS):
        kind_of({"properties": {"a": {"type": "integer"}}}).column([5])
