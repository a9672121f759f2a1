import pytest

from unit.schemas.json_schema.compared import NEWEST, failure_of

STRING = {"type": "string"}
NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("schema", "fitting", "other", "failure"),
    [
        (
            {"allOf": [STRING, {"maxLength": 1}]},
            "a",
            "ab",
            "#: 2 characters are too many for 1 (maxLength at #/allOf/1)",
        ),
        (
            {"anyOf": [{"items": STRING}, {"maxItems": 0}]},
            ["x"],
            [1],
            "#: none of 2 schemas fits, the nearest fails with "
            "#/0: 1 is not string (type at #/anyOf/0/items) (anyOf at #)",
        ),
        (
            {"oneOf": [NUMBER, {"type": "integer"}, STRING]},
            1.5,
            1,
            "#: both schema 0 and schema 1 fit (oneOf at #)",
        ),
        (
            {"oneOf": [NUMBER]},
            1,
            "x",
            '#: none of 1 schemas fits, the nearest fails with #: "x" is not number (type at #/oneOf/0) (oneOf at #)',
        ),
        ({"not": STRING}, 1, "x", "#: what must not fit does (not at #)"),
        ({"if": STRING, "then": {"maxLength": 1}}, 5, "ab", "#: 2 characters are too many for 1 (maxLength at #/then)"),
        ({"if": STRING, "else": NUMBER}, "x", None, "#: null is not number (type at #/else)"),
        (
            {"$ref": "#/definitions/a", "definitions": {"a": STRING}, "maxLength": 1},
            "ab",
            1,
            "#: 1 is not string (type at #/definitions/a)",
        ),
    ],
)
def test_each_keyword(schema: object, fitting: object, other: object, failure: str) -> None:
    assert failure_of(schema, fitting) is None
    assert failure_of(schema, other) == failure


@pytest.mark.parametrize(
    ("schema", "fitting", "other"),
    [
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"patternProperties": {"^a": {}}, "unevaluatedProperties": STRING}, {"ab": 1, "b": "x"}, {"b": 1}),
        (
            {"anyOf": [{"properties": {"a": NUMBER}}, {"required": ["b"]}], "unevaluatedProperties": False},
            {"a": 1},
            {"a": "x", "b": 1},
        ),
        (
            {"if": {"required": ["a"]}, "then": {"properties": {"a": {}}}, "unevaluatedProperties": False},
            {"a": 1},
            {"b": 1},
        ),
        (
            {"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}, "unevaluatedProperties": False},
            {"a": 1, "b": 2},
            {"b": 2},
        ),
        (
            {"$ref": "#/$defs/a", "unevaluatedProperties": False, "$defs": {"a": {"properties": {"a": {}}}}},
            {"a": 1},
            {"b": 1},
        ),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1], [1, 2]),
        ({"contains": STRING, "unevaluatedItems": NUMBER}, ["x", 1], ["x", None]),
        ({"allOf": [{"items": {}}], "unevaluatedItems": False}, [1, 2], None),
    ],
)
def test_what_nobody_has_looked_at(schema: dict[str, object], fitting: object, other: object) -> None:
    assert failure_of({"$schema": NEWEST, **schema}, fitting) is None
    if other is not None:
        assert failure_of({"$schema": NEWEST, **schema}, other) is not None
