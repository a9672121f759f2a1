"""The library jsonschema is slower, has no bounds, and is right: what it says of a value, the checks must say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import validator_for

from ottla.schemas.errors import UnwritableValue
from ottla.schemas.json_schema.checks import DEPTH_MAX, Failure, identity_of, plain
from ottla.schemas.json_schema.json_format import JsonFormat
from unit.schemas.json_schema.compared import NEWEST, parse
from unit.schemas.json_schema.generated import DRAFTS, NEWER_SCHEMAS, SCHEMAS, VALUES


def fits(schema: object, value: object) -> bool:
    try:
        written = parse(schema).encoder()(value)
    except UnwritableValue:
        return False
    assert json.loads(written) == value
    return True


def fits_by_library(schema: dict[str, Any], value: object) -> bool:
    valid: bool = validator_for(schema)(schema).is_valid(value)
    return valid


@given(st.sampled_from(DRAFTS), SCHEMAS, st.lists(VALUES, min_size=1, max_size=8))
def test_checks_agree_with_the_library(draft: str, schema: dict[str, Any], values: list[object]) -> None:
    schema = {"$schema": draft, **schema}
    encode = parse(schema).encoder()
    for value in values:
        expected = fits_by_library(schema, value)
        try:
            encode(value)
        except UnwritableValue as error:
            assert not expected, error
        else:
            assert expected


@given(NEWER_SCHEMAS, NEWER_SCHEMAS, st.lists(VALUES, min_size=1, max_size=8))
def test_newer_keywords_agree_with_the_library(
    schema: dict[str, Any], definition: dict[str, Any], values: list[object]
) -> None:
    whole = {"$schema": NEWEST, **schema, "$defs": {"a": definition}}
    encode = parse(whole).encoder()
    for value in values:
        try:
            expected = fits_by_library(whole, value)
        except RecursionError:
            # A reference that only leads to itself, which the library follows for ever.
            continue
        try:
            encode(value)
        except UnwritableValue as error:
            assert not expected, error
        else:
            assert expected


def test_a_failure_names_place_rule_and_value() -> None:
    schema = {"properties": {"a/b": {"items": {"type": "integer", "maximum": 5}}}}
    with pytest.raises(UnwritableValue) as raised:
        parse(schema).encoder()({"a/b": [1, 7]})
    assert str(raised.value) == "#/a~1b/1: 7 is above 5 (maximum at #/properties/a~1b/items)"


def test_a_reference_that_leads_only_to_itself_says_nothing() -> None:
    for schema in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"not": {"not": {"$ref": "#"}}}):
        assert fits(schema, {"a": 1})


def test_a_recursive_schema_checks_all_levels() -> None:
    schema = {"properties": {"next": {"$ref": "#"}, "value": {"type": "integer"}}}
    assert fits(schema, {"next": {"next": {"value": 1}}})
    assert not fits(schema, {"next": {"next": {"value": "x"}}})


def test_alternatives_without_end_are_given_up() -> None:
    definitions: dict[str, object] = {
        f"d{at}": {"anyOf": [{"$ref": f"#/definitions/d{at + 1}"}] * 2} for at in range(60)
    }
    definitions["d60"] = {"type": "string"}
    schema = parse({"$ref": "#/definitions/d0", "definitions": definitions})
    with pytest.raises(UnwritableValue, match="more steps to check"):
        schema.encoder()(1)


def test_many_patterns_and_many_names_are_given_up() -> None:
    schema = parse({"patternProperties": {f"^a{at}": {} for at in range(2000)}})
    with pytest.raises(UnwritableValue, match="more steps to check"):
        schema.encoder()({f"p{at}": 1 for at in range(2000)})


def test_a_chain_of_references_is_given_up_before_the_stack_ends() -> None:
    definitions: dict[str, object] = {f"d{at}": {"$ref": f"#/definitions/d{at + 1}"} for at in range(3000)}
    schema = parse({"$ref": "#/definitions/d0", "definitions": {**definitions, "d3000": {}}})
    with pytest.raises(UnwritableValue, match=f"more than {DEPTH_MAX} levels"):
        schema.encoder()(1)


def test_values_of_schemas_are_equal_to_python_s() -> None:
    tree = JsonFormat().parse('{"enum": [1.0, 0.1, [true], {"a": 1e2}]}', {})
    for value in (1, 1.0, 0.1, [True], {"a": 100}):
        tree.encoder()(value)
    for value in (True, [1], {"a": True}, "1"):
        with pytest.raises(UnwritableValue):
            tree.encoder()(value)
    assert identity_of(1) != identity_of(True)
    assert plain(["1"]) == ["1"]


def test_a_path_is_read_from_the_outside() -> None:
    assert str(Failure("rule", "detail").within(1).within("a")) == "#/a/1: detail (rule)"
