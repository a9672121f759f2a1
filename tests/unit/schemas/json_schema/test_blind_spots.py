"""What Confluent's registry calls compatible, and what is not."""

import pytest

from unit.schemas.json_schema.compared import NEWEST, Findings, rules

STRING = {"type": "string"}
NUMBER = {"type": "number"}
CONDITION = {"if": {"required": ["a"]}, "then": {"required": ["b"]}}


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        ({"maxLength": 5}, {"type": "string", "maxLength": 5}, [("TYPE_NARROWED", "#/")]),
        ({"type": "string", "maxLength": 5}, {"maxLength": 5}, []),
        ({"type": "object"}, {"type": "object", "required": ["a"]}, [("REQUIRED_ATTRIBUTE_ADDED", "#/required/a")]),
        (
            {"type": "object"},
            {"type": "object", "required": ["a"], "properties": {"a": {}}},
            [("REQUIRED_ATTRIBUTE_ADDED", "#/required/a")],
        ),
        (
            {"patternProperties": {"^a": STRING}},
            {"patternProperties": {"^a": NUMBER}},
            [("TYPE_CHANGED", "#/patternProperties/^a")],
        ),
        (
            {"type": "object"},
            {"type": "object", "patternProperties": {"^a": STRING}},
            [("ADDITIONAL_PROPERTIES_NARROWED", "#/patternProperties/^a")],
        ),
        (
            {"additionalProperties": False, "properties": {"ab": NUMBER}},
            {"additionalProperties": False, "properties": {"ab": NUMBER}, "patternProperties": {"^a": STRING}},
            [("TYPE_CHANGED", "#/patternProperties/^a")],
        ),
        (
            {"additionalProperties": False, "patternProperties": {"^a": STRING}},
            {"additionalProperties": False},
            [("ADDITIONAL_PROPERTIES_REMOVED", "#/patternProperties/^a")],
        ),
        (
            {"patternProperties": {"^a": STRING}},
            {"patternProperties": {"^a": STRING}, "properties": {"b": STRING}},
            [("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/b")],
        ),
        (
            {"type": "object"},
            {"type": "object", "propertyNames": {"maxLength": 3}},
            [("SCHEMA_ADDED", "#/propertyNames")],
        ),
        (
            {"propertyNames": {"maxLength": 4}},
            {"propertyNames": {"maxLength": 3}},
            [("MAX_LENGTH_DECREASED", "#/propertyNames/maxLength")],
        ),
        ({"contains": STRING}, {"contains": NUMBER}, [("TYPE_CHANGED", "#/contains")]),
        (CONDITION, CONDITION, []),
        (CONDITION, {**CONDITION, "then": {"required": ["c"]}}, [("TYPE_CHANGED", "#/if")]),
    ],
)
def test_what_confluent_does_not_look_at(writer: object, reader: object, found: Findings) -> None:
    assert rules(writer, reader) == found


def test_more_items_must_not_match_where_their_number_is_limited() -> None:
    writer = {"$schema": NEWEST, "contains": {"type": "integer"}, "maxContains": 2}
    assert rules(writer, {**writer, "contains": NUMBER}) == [("TYPE_NARROWED", "#/contains")]


def test_a_pattern_that_cannot_be_run_covers_nothing() -> None:
    patterns = {"additionalProperties": False, "patternProperties": {"(?=a)": STRING}}
    found = rules({"additionalProperties": False, "properties": {"a": STRING}}, patterns)
    assert ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/properties/a") in found
