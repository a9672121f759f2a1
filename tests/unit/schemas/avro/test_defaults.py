import time
from typing import Any

import pytest

from ottla.schemas.avro.defaults import check_defaults
from ottla.schemas.errors import InvalidSchema
from unit.schemas.avro.schemas import field, parse, record

POINT = record(field("x", "int"), field("y", "int", default=2), name="P")


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        ("null", None),
        ("boolean", False),
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("float", 1),
        ("double", 1.5),
        ("double", "NaN"),
        ("string", ""),
        ("bytes", "\u00ff"),
        (["null", "string"], None),
        (["string", "null"], "a"),
        ({"type": "array", "items": "int"}, [1, 2]),
        ({"type": "map", "values": "int"}, {"a": 1}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "A"),
        ({"type": "fixed", "name": "F", "size": 1}, "a"),
        (POINT, {"x": 1}),
        (["null", "R"], None),
    ],
)
def test_a_default_that_fits_is_taken(type_: Any, default: Any) -> None:
    parse(record(field("f", type_, default=default)))


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        ("null", "null"),
        ("boolean", 0),
        ("int", 2**31),
        ("int", 1.0),
        ("int", True),
        ("long", -(2**63) - 1),
        ("float", False),
        ("string", None),
        ("bytes", 1),
        (["null", "string"], "null"),
        ([], 1),
        ({"type": "array", "items": "int"}, ["a"]),
        ({"type": "array", "items": "int"}, {}),
        ({"type": "map", "values": "int"}, {"a": None}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, 1),
        (POINT, {"y": 1}),
        (POINT, []),
        ("R", {}),
    ],
)
def test_a_default_that_does_not_is_a_fault_in_a_new_schema_alone(type_: Any, default: Any) -> None:
    schema = record(field("f", type_, default=default))
    with pytest.raises(InvalidSchema, match="of field f in R is no"):
        parse(schema)
    check = parse(schema, is_new=False)
    with pytest.raises(InvalidSchema):
        check_defaults(check.document)


def test_a_text_on_a_union_that_begins_with_null_is_named_with_the_remedy() -> None:
    schema = record(field("email", ["null", "string"], default="null"))
    with pytest.raises(
        InvalidSchema, match=r'"null" of field email in R is no union: it has to fit .* first type, null'
    ):
        parse(schema)
    assert '"default":"null"' in parse(schema, is_new=False).canonical


def test_defaults_of_references_are_not_new() -> None:
    reference = '{"type":"record","name":"In","fields":[{"name":"f","type":"int","default":"x"}]}'
    assert parse(record(field("a", "In")), {"In": reference}).name == "R"


def test_a_chain_of_defaults_has_a_bound() -> None:
    """Each record is written before the one that uses it, so that none is nested in the text."""
    chain = [record(name="R2000"), record(field("f", "R2000", default={}), name="R1999")]
    chain += [record(field("f", ["R0", f"R{n + 1}"], default={}), field("g", "int"), name=f"R{n}") for n in range(1999)]
    with pytest.raises(InvalidSchema):
        parse(chain)


def test_defaults_that_double_at_each_level_take_no_time() -> None:
    schema: Any = record(name="R0")
    for level in range(1, 60):
        inner = f"R{level - 1}"
        schema = record(field("a", schema, default={}), field("b", inner, default={}), name=f"R{level}")
    start = time.process_time()
    parsed = parse(schema)
    parsed.encoder()
    assert time.process_time() - start < 5
