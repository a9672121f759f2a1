"""What is no schema."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.json_format import JsonFormat
from ottla.schemas.json_schema.json_text import read_json
from ottla.schemas.json_schema.soundness import Judge
from unit.schemas.json_schema.compared import NEWEST, parse
from unit.schemas.json_schema.generated import DRAFTS

KEYWORDS = (
    *("type", "properties", "items", "additionalItems", "additionalProperties", "required", "enum", "minLength"),
    *("maximum", "exclusiveMaximum", "multipleOf", "allOf", "not", "dependencies", "uniqueItems", "title", "pattern"),
    *(
        "prefixItems",
        "dependentRequired",
        "contains",
        "minContains",
        "if",
        "$defs",
        "$anchor",
        "$id",
        "patternProperties",
    ),
)
NONSENSE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from([0.5, -1.5, 2.0, "a", "string", "object", "1", "a#b", "x.y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", *KEYWORDS]), inner, max_size=3),
    max_leaves=6,
)


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


@settings(max_examples=400)
@given(st.sampled_from(DRAFTS), st.dictionaries(st.sampled_from(KEYWORDS), NONSENSE, min_size=1, max_size=4))
def test_likenesses_are_judged_as_the_whole_schema_is(draft: str, schema: dict[str, Any]) -> None:
    whole = {"$schema": draft, **schema}
    library = validator_for(whole)
    faults = library(library.META_SCHEMA).iter_errors(whole)
    expected = [fault for fault in faults if not (fault.validator == "uniqueItems" and "enum" in fault.absolute_path)]
    try:
        Judge().judge(read_json(json.dumps(whole)), is_new=True)
    except InvalidSchema as error:
        assert expected, error
    else:
        assert expected == []
