"""Tags in the texts of the three formats."""

import json

import pytest

from ottla.schemas.avro.tagged_text import TaggedAvro
from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.tagged_text import TaggedJson
from ottla.schemas.protobuf.tagged_text import TaggedProtobuf
from ottla.schemas.schema import SchemaType
from ottla.schemas.tagging import Entity, change_tags, find_tags

AVRO = json.dumps(
    {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "id", "type": "int", "confluent:tags": ["KEY"]},
            {
                "name": "lines",
                "type": {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "Line",
                        "fields": [{"name": "note", "type": ["null", "string"]}],
                    },
                },
            },
        ],
    },
    separators=(",", ":"),
)
JSON = json.dumps(
    {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"type": "object", "properties": {"note": {"type": "string"}}}},
            "choice": {"oneOf": [{"type": "null"}, {"properties": {"x": True}}]},
            "flag": True,
        },
    },
    separators=(",", ":"),
)
PROTO = """syntax = "proto3";
package shop;

import "confluent/meta.proto";

message Order {
  int32 id = 1 [
    (confluent.field_meta).tags = "KEY",
    deprecated = true
  ];
  oneof choice {
    string note = 2 [(confluent.field_meta) = {
      doc: "why",
      tags: ["A", "B"]
    }];
  }
  message Line {
    option (confluent.message_meta).tags = "INNER";
  }
}
"""


def field(path: str) -> Entity:
    return Entity(path, is_record=False)


def record(path: str) -> Entity:
    return Entity(path, is_record=True)


def test_records_and_fields_have_paths() -> None:
    assert list(TaggedAvro(AVRO).find()) == [
        record("shop.Order"),
        field("shop.Order.id"),
        field("shop.Order.lines"),
        record("shop.Line"),
        field("shop.Line.note"),
    ]
    assert list(TaggedJson(JSON).find()) == [
        record("object"),
        field("object.lines"),
        record("object.lines.array.object"),
        field("object.lines.array.object.note"),
        field("object.choice"),
        record("object.choice.oneof.1.object"),
    ]
    assert list(TaggedProtobuf(PROTO).find()) == [
        record("Order"),
        field("Order.id"),
        field("Order.note"),
        record("Order.Line"),
    ]


def test_tags_are_found() -> None:
    assert find_tags(SchemaType.AVRO, AVRO) == {field("shop.Order.id"): ["KEY"]}
    assert find_tags(SchemaType.JSON, JSON) == {}
    assert find_tags(SchemaType.PROTOBUF, PROTO) == {
        field("Order.id"): ["KEY"],
        field("Order.note"): ["A", "B"],
        record("Order.Line"): ["INNER"],
    }


@pytest.mark.parametrize(
    ("schema_type", "text", "entity"),
    [
        (SchemaType.AVRO, AVRO, field("shop.Line.note")),
        (SchemaType.AVRO, AVRO, record("shop.Order")),
        (SchemaType.JSON, JSON, field("object.lines.array.object.note")),
        (SchemaType.JSON, JSON, record("object")),
        (SchemaType.PROTOBUF, PROTO, field("Order.note")),
        (SchemaType.PROTOBUF, PROTO, field("Order.id")),
        (SchemaType.PROTOBUF, PROTO, record("Order")),
    ],
)
def test_tags_come_and_go_and_nothing_else_changes(schema_type: SchemaType, text: str, entity: Entity) -> None:
    before = find_tags(schema_type, text)
    tagged = change_tags(schema_type, text, {entity: ["PII", "PII", "NEW"]}, {})
    assert find_tags(schema_type, tagged) == {**before, entity: [*before.get(entity, ()), "PII", "NEW"]}
    again = change_tags(schema_type, tagged, {}, {entity: ["PII", "NEW"]})
    assert find_tags(schema_type, again) == before
    if schema_type is not SchemaType.PROTOBUF:
        assert again == text


def test_what_else_an_option_of_protobuf_says_stays() -> None:
    tagged = change_tags(SchemaType.PROTOBUF, PROTO, {}, {field("Order.note"): ["A", "B"], field("Order.id"): ["KEY"]})
    assert 'doc: "why"' in tagged
    assert "int32 id = 1 [deprecated = true];" in tagged


@pytest.mark.parametrize(
    ("schema_type", "text"), [(SchemaType.AVRO, AVRO), (SchemaType.JSON, JSON), (SchemaType.PROTOBUF, PROTO)]
)
def test_a_place_that_is_not_there_is_told(schema_type: SchemaType, text: str) -> None:
    with pytest.raises(InvalidSchema, match=r"the schema has no field Nobody\.x"):
        change_tags(schema_type, text, {field("Nobody.x"): ["PII"]}, {})
