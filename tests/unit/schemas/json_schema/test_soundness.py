"""What is no schema."""

import json

import pytest

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.json_format import JsonFormat
from ottla.schemas.json_schema.soundness import Judge
from unit.schemas.json_schema.compared import NEWEST, parse


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strin"}, '^#/type: "strin" is not what draft 7 has there'),
        ({"properties": 5}, "^#/properties: 5 "),
        ({"properties": {"a": {"items": {"minLength": -1}}}}, "^#/properties/a/items/minLength: -1 .*'minimum', 0"),
        ({"properties": {"a": "string"}}, '^#/properties/a: "string"'),
        ({"required": "a"}, "^#/required"),
        ({"$id": 5}, r"^#/\$id: 5"),
        ({"multipleOf": 0}, "^#/multipleOf"),
        ({"allOf": []}, "^#/allOf"),
        ({"not": 5}, "^#/not"),
        ({"pattern": "("}, "^#/pattern: RE2 cannot run"),
        ({"properties": {"a": {"patternProperties": {"[": {}}}}}, "^#/properties/a/patternProperties: RE2 cannot run"),
        ({"$schema": NEWEST, "items": [{}]}, "^#/items"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": True}}, "^#/properties/a: true"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMaximum": 5}, "^#/exclusiveMaximum: 5"),
    ],
)
def test_the_place_and_the_rule_are_named(schema: object, message: str) -> None:
    with pytest.raises(InvalidSchema, match=message):
        parse(schema)


@pytest.mark.parametrize("text", ["5", '"string"', "null", "[]", ""])
def test_a_schema_is_an_object_or_a_boolean(text: str) -> None:
    with pytest.raises(InvalidSchema):
        JsonFormat().parse(text, {})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 1.0, "x-note": {"type": 5}, "default": 5, "examples": [{}]},
        {"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "additionalProperties": True, "const": 1},
        {"$schema": "http://json-schema.org/draft-04/schema#", "if": 5, "maximum": 5, "exclusiveMaximum": True},
        {"pattern": "(?=a)"},
        {"$defs": {"a": {"type": "string"}}, "$ref": "#/$defs/a"},
        True,
        False,
    ],
)
def test_what_a_draft_allows_is_allowed(schema: object) -> None:
    assert parse(schema).compare(parse(schema)) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-04/schema#", "required": []},
        {"enum": ["a", "a"], "title": 5, "required": ["a", "a"]},
        {"pattern": "("},
    ],
)
def test_what_another_registry_accepted_is_read_with_patience(schema: object) -> None:
    text = json.dumps(schema)
    old = JsonFormat().parse(text, {}, is_new=False)
    assert old.compare(old) == []


def test_patience_has_an_end() -> None:
    for text in ('{"type": "strin"}', '{"properties": 5}', '{"$ref": "nowhere"}', '{"type": [["a"]]}'):
        with pytest.raises(InvalidSchema):
            JsonFormat().parse(text, {}, is_new=False)


def test_a_megabyte_is_read() -> None:
    properties = {f"property-{at}": {"type": "string", "maxLength": at % 100} for at in range(16_000)}
    text = json.dumps({"type": "object", "properties": properties, "enum": [{"at": at} for at in range(10_000)]})
    assert len(text) > 1_000_000
    assert JsonFormat().parse(text, {}).name is None


def test_a_judge_needs_no_references() -> None:
    Judge().judge({"$ref": "nowhere"}, is_new=True)
