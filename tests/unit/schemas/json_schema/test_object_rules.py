"""The content models of Confluent's documentation: open, closed, partially open."""

import pytest

from unit.schemas.json_schema.compared import NEWEST, Findings, rules

STRING = {"type": "string"}
NUMBER = {"type": "number"}
NULLABLE = {"oneOf": [{"type": "null"}, STRING]}


def record(more: object = None, required: tuple[str, ...] = (), **properties: object) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if more is not None:
        schema["additionalProperties"] = more
    return {**schema, "required": list(required)} if required else schema


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        # A property of both.
        (record(a=STRING), record(a=NUMBER), [("TYPE_CHANGED", "#/properties/a")]),
        (record(a=STRING), record(required=("a",), a=STRING), [("REQUIRED_ATTRIBUTE_ADDED", "#/required/a")]),
        (record(required=("a",), a=STRING), record(a=STRING), []),
        (record(a=STRING), record(required=("a",), a={"type": "string", "default": "x"}), []),
        # A property that came.
        (record(), record(a=STRING), [("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "#/properties/a")]),
        (
            record(),
            record(required=("a",), a=STRING),
            [("REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "#/properties/a")],
        ),
        (
            record(),
            record(required=("a",), a={"type": "string", "default": "x"}),
            [("REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL", "#/properties/a")],
        ),
        (record(), record(a=True), []),
        (record(False), record(False, a=STRING), []),
        (record(False), record(False, a=False), []),
        (
            record(False),
            record(False, required=("a",), a=STRING),
            [("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", "#/properties/a")],
        ),
        (record(False), record(False, required=("a",), a={"type": "string", "default": "x"}), []),
        (record(STRING), record(STRING, a=STRING), []),
        (
            record(STRING),
            record(STRING, a=NUMBER),
            [
                ("TYPE_CHANGED", "#/properties/a"),
                ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/a"),
            ],
        ),
        (
            record(STRING),
            record(STRING, required=("a",), a=STRING),
            [("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", "#/properties/a")],
        ),
        # A property that went.
        (record(a=STRING), record(), []),
        (record(False, a=STRING), record(False), [("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/properties/a")]),
        (record(False, a=False), record(False), []),
        (record(False, a=STRING), record(STRING), []),
        (record(False, a=STRING), record(NULLABLE), []),
        (
            record(False, a=NUMBER),
            record(STRING),
            [
                ("TYPE_CHANGED", "#/properties/a"),
                ("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/a"),
            ],
        ),
        # Other properties.
        (record(), record(False), [("ADDITIONAL_PROPERTIES_REMOVED", "#/additionalProperties")]),
        (record(), record(STRING), [("ADDITIONAL_PROPERTIES_NARROWED", "#/additionalProperties")]),
        (record(STRING), record(NUMBER), [("TYPE_CHANGED", "#/additionalProperties")]),
        (record(False), record(), []),
        (record(STRING), record(), []),
    ],
)
def test_content_models(writer: object, reader: object, found: Findings) -> None:
    assert rules(writer, reader) == found


def test_patterns_make_a_content_model_partially_open() -> None:
    patterns = {"patternProperties": {"^S_": STRING, "^I_": {"type": "integer"}}}
    writer = {**record(False, foo=STRING), **patterns}
    assert rules(writer, {**record(False, foo=STRING, I_1=NUMBER), **patterns}) == []
    assert rules(writer, {**record(False, foo=STRING, S_1=NUMBER), **patterns}) == [
        ("TYPE_CHANGED", "#/properties/S_1"),
        ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/properties/S_1"),
    ]
    assert rules(record(False, foo=STRING, S_1=STRING), writer) == []


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        ({}, {"maxProperties": 1}, [("MAX_PROPERTIES_ADDED", "#/maxProperties")]),
        ({"maxProperties": 2}, {"maxProperties": 1}, [("MAX_PROPERTIES_DECREASED", "#/maxProperties")]),
        ({"maxProperties": 1}, {"maxProperties": 2}, []),
        ({}, {"minProperties": 1}, [("MIN_PROPERTIES_ADDED", "#/minProperties")]),
        ({"minProperties": 1}, {"minProperties": 2}, [("MIN_PROPERTIES_INCREASED", "#/minProperties")]),
        ({}, {"dependencies": {"a": ["b"]}}, [("DEPENDENCY_ARRAY_ADDED", "#/dependencies/a")]),
        ({"dependencies": {"a": ["b"]}}, {}, []),
        (
            {"dependencies": {"a": ["b"]}},
            {"dependencies": {"a": ["b", "c"]}},
            [("DEPENDENCY_ARRAY_EXTENDED", "#/dependencies/a")],
        ),
        ({"dependencies": {"a": ["b", "c"]}}, {"dependencies": {"a": ["b"]}}, []),
        (
            {"dependencies": {"a": ["b"]}},
            {"dependencies": {"a": ["c"]}},
            [("DEPENDENCY_ARRAY_CHANGED", "#/dependencies/a")],
        ),
        ({}, {"dependencies": {"a": STRING}}, [("DEPENDENCY_SCHEMA_ADDED", "#/dependencies/a")]),
        ({"dependencies": {"a": STRING}}, {"dependencies": {"a": NUMBER}}, [("TYPE_CHANGED", "#/dependencies/a")]),
    ],
)
def test_sizes_and_dependencies(writer: dict[str, object], reader: dict[str, object], found: Findings) -> None:
    assert rules({"type": "object", **writer}, {"type": "object", **reader}) == found


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        (None, False, [("UNEVALUATED_PROPERTIES_REMOVED", "#/unevaluatedProperties")]),
        (STRING, False, [("UNEVALUATED_PROPERTIES_REMOVED", "#/unevaluatedProperties")]),
        (None, STRING, [("UNEVALUATED_PROPERTIES_NARROWED", "#/unevaluatedProperties")]),
        (NUMBER, STRING, [("TYPE_CHANGED", "#/unevaluatedProperties")]),
        (False, STRING, []),
        (STRING, True, []),
        (STRING, None, []),
    ],
)
def test_what_no_schema_has_looked_at(writer: object, reader: object, found: Findings) -> None:
    def schema(rest: object) -> dict[str, object]:
        return {"$schema": NEWEST, "type": "object", **({} if rest is None else {"unevaluatedProperties": rest})}

    assert rules(schema(writer), schema(reader)) == found
    closed = schema(False)
    assert rules(closed, {**closed, "properties": {"a": STRING}}) == []
    assert rules({**closed, "properties": {"a": STRING}}, closed) == [
        ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/properties/a")
    ]
