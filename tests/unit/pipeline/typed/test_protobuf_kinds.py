"""Messages of Protobuf as columns, through the codec: a value is written, read, and the same."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.typed.protobuf_kinds import message_kind
from ottla.schemas.protobuf.protobuf_format import ProtobufFormat, ProtobufSchema

WELL_KNOWN = """
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto"; import "google/protobuf/empty.proto";
"""


def schema_of(body: str) -> ProtobufSchema:
    return ProtobufFormat().parse(f'syntax = "proto3"; package p; {WELL_KNOWN} {body}', {})


def there_and_back(body: str, cell: Any) -> tuple[str, Any]:
    """The column's type, and the cell that comes back."""
    schema = schema_of(body)
    kind = message_kind(schema.descriptor("p.M"))
    written = schema.encoder(schema.indexes_of("p.M"))(kind.value(cell))
    value = schema.decoder(None, schema.indexes_of("p.M"))(written)
    return kind.spark_type.simpleString(), kind.column([value]).to_pylist()[0]


NOON = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)

FIELDS = [
    ("int32 a = 1;", "int", -1),
    ("sint64 a = 1;", "bigint", -(1 << 60)),
    ("uint32 a = 1;", "bigint", (1 << 32) - 1),
    ("fixed64 a = 1;", "decimal(20,0)", Decimal((1 << 64) - 1)),
    ("float a = 1;", "float", 0.5),
    ("double a = 1;", "double", float("inf")),
    ("bool a = 1;", "boolean", True),
    ("string a = 1;", "string", "ž"),
    ("bytes a = 1;", "binary", b"\xff\0"),
    ("optional int32 a = 1;", "int", None),
    ("enum E { ZERO = 0; ONE = 1; } E a = 1;", "string", "ONE"),
    ("enum E { ZERO = 0; ONE = 1; } E a = 1;", "string", "7"),
    ("repeated int64 a = 1;", "array<bigint>", [1, 2]),
    ("map<int32, string> a = 1;", "map<int,string>", [(1, "x")]),
    ("map<bool, bytes> a = 1;", "map<boolean,binary>", [(True, b"x")]),
    ("message N { int32 b = 1; } N a = 1;", "struct<b:int>", {"b": 1}),
    ("message N { int32 b = 1; } N a = 1;", "struct<b:int>", None),
    ("message N { int32 b = 1; } repeated N a = 1;", "array<struct<b:int>>", [{"b": 1}]),
    ("google.protobuf.Timestamp a = 1;", "timestamp", NOON),
    ("google.protobuf.Duration a = 1;", "interval day to second", timedelta(days=-1, microseconds=5)),
    ("google.protobuf.Int64Value a = 1;", "bigint", 1 << 60),
    ("google.protobuf.StringValue a = 1;", "string", None),
    ("google.protobuf.BytesValue a = 1;", "binary", b"\xff"),
    ("google.protobuf.Struct a = 1;", "string", '{"x":[1.0]}'),
    ("google.protobuf.Empty a = 1;", "struct<>", {}),
]


@pytest.mark.parametrize(("field", "column", "cell"), FIELDS, ids=[f"{field} {cell}" for field, _, cell in FIELDS])
def test_a_field_is_a_column_there_and_back(field: str, column: str, cell: Any) -> None:
    assert there_and_back(f"message M {{ {field} }}", {"a": cell}) == (f"struct<a:{column}>", {"a": cell})


def test_a_choice_is_a_column_for_each_of_its_fields() -> None:
    body = "message M { oneof way { int32 a = 1; string b = 2; } int32 c = 3; }"
    cell = {"a": None, "b": "x", "c": 0}
    assert there_and_back(body, cell) == ("struct<a:int,b:string,c:int>", cell)
    kind = message_kind(schema_of(body).descriptor("p.M"))
    assert [field["nullable"] for field in kind.spark_type.jsonValue()["fields"]] == [True, True, False]


def test_a_message_of_the_users_own_is_not_taken_for_a_well_known_one() -> None:
    assert there_and_back(
        "message M { IntValue a = 1; } message IntValue { int32 value = 1; }", {"a": {"value": 1}}
    ) == (
        "struct<a:struct<value:int>>",
        {"a": {"value": 1}},
    )


def test_a_message_within_itself_is_refused() -> None:
    with pytest.raises(PipelineError, match=r"the message p\.M contains itself, which no column can"):
        message_kind(schema_of("message M { repeated M a = 1; }").descriptor("p.M"))
