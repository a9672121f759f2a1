"""Avro's types as columns: what Spark sees, what cells become values again, and what no column has the type of."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.typed.avro_kinds import avro_kind, labelled
from ottla.schemas.avro.avro_format import AvroFormat, AvroSchema
from ottla.schemas.errors import UnwritableValue


def parse(schema: Any, *references: Any) -> AvroSchema:
    texts = {str(number): json.dumps(one) for number, one in enumerate(references)}
    return AvroFormat().parse(json.dumps(schema), texts)


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": one} for key, one in fields.items()]}


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
WALL_CLOCK = datetime(2026, 1, 31, 12)  # noqa: DTZ001
FIXED = {"type": "fixed", "name": "F", "size": 2}
UUID_TEXT = "a3e1c1de-8f2d-4f0a-9c57-0e3a4f1b2c3d"

# A type, the column's, a value, and its cell.
SAME = [
    ("boolean", "boolean", True, True),
    ("int", "int", 1, 1),
    ("long", "bigint", 1 << 40, 1 << 40),
    ("float", "float", 0.5, 0.5),
    ("double", "double", 0.1, 0.1),
    ("bytes", "binary", b"\0", b"\0"),
    ("string", "string", "ž", "ž"),
    (FIXED, "binary", b"ab", b"ab"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "string", "B", "B"),
    (logical("int", "date"), "date", date(2026, 1, 31), date(2026, 1, 31)),
    (logical("long", "timestamp-millis"), "timestamp", NOON, NOON),
    (logical("long", "timestamp-micros"), "timestamp", NOON, NOON),
    (logical("long", "timestamp-nanos"), "bigint", 5, 5),
    (logical("long", "local-timestamp-millis"), "timestamp_ntz", WALL_CLOCK, WALL_CLOCK),
    (logical("long", "local-timestamp-micros"), "timestamp_ntz", WALL_CLOCK, WALL_CLOCK),
    (logical("int", "time-millis"), "int", time(0, 0, 1, 2000), 1002),
    (logical("long", "time-micros"), "bigint", time(0, 0, 1, 2), 1_000_002),
    (logical("bytes", "decimal", precision=5, scale=2), "decimal(5,2)", Decimal("1.25"), Decimal("1.25")),
    (logical("bytes", "decimal", precision=60, scale=1), "string", Decimal("1.2"), "1.2"),
    (logical("string", "uuid"), "string", UUID(UUID_TEXT), UUID_TEXT),
    (["null", "int"], "int", None, None),
    (["int", "null"], "int", 3, 3),
    (["int", "long"], "bigint", 1 << 40, 1 << 40),
    ({"type": "array", "items": ["null", "int"]}, "array<int>", [1, None], [1, None]),
    ({"type": "map", "values": "int"}, "map<string,int>", {"a": 1}, [("a", 1)]),
    (record("R", a="int", b=["null", "string"]), "struct<a:int,b:string>", {"a": 1, "b": None}, {"a": 1, "b": None}),
    (record("R", a={"type": "array", "items": record("S", x="int")}), "struct<a:array<struct<x:int>>>",
     {"a": [{"x": 1}]}, {"a": [{"x": 1}]}),
    (record("Empty"), "struct<>", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "column", "value", "cell"), SAME, ids=[str(one[0]) for one in SAME])
def test_a_type_is_a_column_there_and_back(schema: Any, column: str, value: Any, cell: Any) -> None:
    kind = avro_kind(parse(schema))
    assert kind.spark_type.simpleString() == column
    assert kind.column([value, None]).to_pylist() == [cell, None]
    assert kind.value(cell) == value


def test_only_what_may_be_null_is_nullable() -> None:
    kind = avro_kind(parse(record("R", a="int", b=["null", "int"], c={"type": "array", "items": "int"})))
    a, b, c = kind.spark_type.jsonValue()["fields"]
    assert (a["nullable"], b["nullable"], c["type"]["containsNull"]) == (False, True, False)


CHOICES = [
    (["null", "string", "int"], "string", {"member0": "x", "member1": None}, ("string", "x")),
    (["string", "int"], 4, {"member0": None, "member1": 4}, ("int", 4)),
    (["int", "double"], 0.5, {"member0": None, "member1": 0.5}, ("double", 0.5)),
    (["float", "string"], 2, {"member0": 2.0, "member1": None}, ("float", 2.0)),
    ([logical("int", "date"), logical("long", "timestamp-millis")], NOON, {"member0": None, "member1": NOON},
     ("long", NOON)),
    (["bytes", FIXED], b"abc", {"member0": b"abc", "member1": None}, ("bytes", b"abc")),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "cell", "labelled_value"), CHOICES, ids=[str(one[0]) for one in CHOICES])
def test_a_union_is_a_struct_of_its_branches(schema: Any, value: Any, cell: Any, labelled_value: Any) -> None:
    kind = avro_kind(parse(schema))
    given = "x" if value == "string" else value
    assert kind.column([given, None]).to_pylist() == [cell, None]
    assert kind.value(cell) == labelled_value


def test_records_of_a_union_are_told_apart_by_their_names() -> None:
    """Both have the same fields, and the second one was written."""
    schema = parse(record("Event", body=[record("Opened", id="int"), record("Closed", id="int")]))
    written = schema.encoder()({"body": ("Closed", {"id": 1})})
    value = schema.decoder(AvroFormat().parse(labelled(schema), {}))(written)
    kind = avro_kind(schema)
    assert kind.column([value]).to_pylist() == [{"body": {"member0": None, "member1": {"id": 1}}}]


def test_names_within_a_namespace_are_told_apart_too() -> None:
    inner = {**record("Closed", id="int"), "namespace": "b"}
    schema = parse({**record("Event", body=[record("Closed", id="int"), inner]), "namespace": "a"})
    written = schema.encoder()({"body": ("b.Closed", {"id": 1})})
    value = schema.decoder(AvroFormat().parse(labelled(schema), {}))(written)
    assert avro_kind(schema).column([value]).to_pylist()[0]["body"]["member1"] == {"id": 1}


def test_a_schema_without_a_choice_of_records_is_read_as_it_is() -> None:
    schema = parse(record("R", a=["null", "int"]))
    assert labelled(schema) == schema.canonical


def test_numbers_of_a_writer_without_the_logical_type_have_the_readers_unit() -> None:
    kind = avro_kind(parse(logical("long", "timestamp-millis")))
    assert kind.column([NOON, 1000]).to_pylist() == [NOON, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]


def test_references_are_part_of_the_column() -> None:
    kind = avro_kind(parse(record("R", s="other.S"), {**record("S", x="int"), "namespace": "other"}))
    assert kind.spark_type.simpleString() == "struct<s:struct<x:int>>"


def test_a_record_within_itself_is_refused() -> None:
    with pytest.raises(PipelineError, match="the record Node contains itself, which no column can"):
        avro_kind(parse(record("Node", next=["null", "Node"])))


def test_a_schema_that_unfolds_without_end_is_refused() -> None:
    schema: Any = record("R0", a="int")
    for level in range(1, 20):
        schema = record(f"R{level}", a=schema, b=f"R{level - 1}")
    with pytest.raises(PipelineError, match="too large for a column"):
        avro_kind(parse(schema))


MISFITS = [
    (logical("long", "timestamp-millis"), WALL_CLOCK, "cast it to timestamp"),
    (logical("long", "local-timestamp-millis"), NOON, "cast it to timestamp_ntz"),
    (logical("string", "uuid"), "x", "'x' is no UUID"),
    (logical("int", "time-millis"), "x", "is no time of a day"),
    (["string", "int"], {"member0": "x", "member1": 1}, "not member0, member1"),
    (record("R", a="int"), 5, "is no struct of a"),
]


@pytest.mark.parametrize(("schema", "cell", "why"), MISFITS, ids=[why for _, _, why in MISFITS])
def test_cells_of_other_types_are_refused(schema: Any, cell: Any, why: str) -> None:
    with pytest.raises(UnwritableValue, match=why):
        avro_kind(parse(schema)).value(cell)
