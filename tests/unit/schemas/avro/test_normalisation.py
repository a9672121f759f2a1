import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.avro.schemas import SchemaMaker
from ottla.schemas.avro.normalisation import normalise
from ottla.schemas.errors import InvalidSchema
from unit.schemas.avro.schemas import field, parse, record


@pytest.mark.parametrize(
    ("schema", "normalised"),
    [
        ({"type": "string", "b": {"d": 1, "c": 2}, "a": 1}, '{"type":"string","a":1,"b":{"c":2,"d":1}}'),
        (
            {"type": "bytes", "a": 1, "scale": 2, "precision": 4, "logicalType": "decimal"},
            '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2,"a":1}',
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "a": 1, "scale": 0, "precision": 4},
            '{"type":"bytes","logicalType":"decimal","precision":4,"a":1,"scale":0}',
        ),
        ({"type": "int", "logicalType": "mine", "a": 1}, '{"type":"int","a":1,"logicalType":"mine"}'),
        (
            record(doc="", aliases=["Z", "a.B", "Y"], type="error", name="n.R"),
            '{"type":"record","name":"R","namespace":"n","fields":[],"aliases":["a.B","Y","Z"]}',
        ),
        (
            record(field("f", "int", doc="", aliases=["z", "y"], order="ascending")),
            '{"type":"record","name":"R","fields":[{"name":"f","type":"int","doc":"","aliases":["y","z"]}]}',
        ),
    ],
)
def test_differences_without_a_meaning_are_gone(schema: Any, normalised: str) -> None:
    assert parse(schema).normalised() == normalised


@pytest.mark.parametrize(
    ("type_", "default", "normalised"),
    [
        ("double", 1, "1.0"),
        ("float", 16777217, "1.6777216E7"),
        ("float", 0.1, "0.1"),
        ("float", 1e300, '"Infinity"'),
        ("double", 10**400, '"Infinity"'),
        ("long", 1, "1"),
        (["null", "double"], None, "null"),
        (["double", "null"], 1, "1.0"),
        ({"type": "map", "values": "double"}, {"b": 1, "a": 2}, '{"a":2.0,"b":1.0}'),
        ({"type": "array", "items": "float"}, [1], "[1.0]"),
        (record(field("y", "double"), name="P"), {"y": 1}, '{"y":1.0}'),
        (["null", "string"], "null", '"null"'),
        ("int", {"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ],
)
def test_a_default_has_the_form_of_its_type(type_: Any, default: Any, normalised: str) -> None:
    schema = parse(record(field("f", type_, default=default)), is_new=False)
    assert f'"default":{normalised}}}]}}' in schema.normalised()


def test_a_type_without_a_namespace_keeps_none_in_a_record_that_has_one() -> None:
    schema = parse(record(field("f", record(name="P", namespace="")), name="n.R"))
    assert parse(schema.normalised()).document.types.keys() == {"n.R", "P"}


def test_names_of_references_stay_names() -> None:
    reference = '{"type":"record","name":"In","fields":[]}'
    assert parse('{"type":"map","values":"In"}', {"In": reference}).normalised() == '{"type":"map","values":"In"}'


@settings(max_examples=300)
@given(st.integers(0, 2**32))
def test_a_normalised_text_is_its_own_and_means_the_same(seed: int) -> None:
    try:
        schema = parse(json.dumps(SchemaMaker(random.Random(seed)).make()), is_new=False)
    except InvalidSchema:
        return
    text = schema.normalised()
    again = parse(text, is_new=False)
    assert again.normalised() == text == again.canonical
    assert schema.compare(again) == again.compare(schema) == ()
    assert normalise(again.document).types.keys() == schema.document.types.keys()
