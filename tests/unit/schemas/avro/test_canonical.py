"""The texts here are those of Java; tests/interop/test_avro_rules.py compares many more."""

from typing import Any

import pytest

from ottla.schemas.avro.canonical import write_schema
from ottla.schemas.avro.parsing import parse_document
from unit.schemas.avro.schemas import field, parse, record


@pytest.mark.parametrize(
    ("schema", "canonical"),
    [
        ('"string"', '"string"'),
        ({"type": "string"}, '"string"'),
        ({"logicalType": "date", "type": "int"}, '{"type":"int","logicalType":"date"}'),
        ([], "[]"),
        (
            {"type": "array", "items": {"type": "map", "values": "int", "x": 1}, "doc": "dropped"},
            '{"type":"array","items":{"type":"map","values":"int","x":1}}',
        ),
        (
            {"aliases": ["Old", "b.Older"], "x": 1.0, "size": 2, "doc": "d", "name": "a.F", "type": "fixed"},
            '{"type":"fixed","name":"F","namespace":"a","doc":"d","size":2,"x":1.0,"aliases":["Old","b.Older"]}',
        ),
        (
            {"type": "enum", "name": "E", "symbols": ["A"], "default": "A", "x": [1]},
            '{"type":"enum","name":"E","symbols":["A"],"default":"A","x":[1]}',
        ),
        (
            record(
                field("a", "int", aliases=["b"], default=1, order="DESCENDING", doc="d", x=1),
                field("again", "R"),
                field("plain", record(name="P", namespace="")),
                name="n.R",
                type="error",
            ),
            '{"type":"error","name":"R","namespace":"n","fields":['
            '{"name":"a","type":"int","doc":"d","default":1,"order":"descending","aliases":["b"],"x":1},'
            '{"name":"again","type":"R"},'
            '{"name":"plain","type":{"type":"record","name":"P","namespace":"","fields":[]}}]}',
        ),
    ],
)
def test_attributes_have_their_order(schema: Any, canonical: str) -> None:
    assert parse(schema).canonical == canonical
    assert parse(canonical).canonical == canonical


def test_names_of_references_stay_names_unless_they_are_resolved() -> None:
    fixed = '{"type":"fixed","name":"F","size":2}'
    reference = f'{{"type":"record","name":"In","namespace":"a","fields":[{{"name":"f","type":{fixed}}}]}}'
    document = parse_document('{"type":"array","items":["a.F","a.In"]}', [reference])
    assert write_schema(document) == '{"type":"array","items":["a.F","a.In"]}'
    assert write_schema(document, with_references=True) == (
        '{"type":"array","items":[{"type":"fixed","name":"F","namespace":"a","size":2},'
        '{"type":"record","name":"In","namespace":"a","fields":[{"name":"f","type":"F"}]}]}'
    )
