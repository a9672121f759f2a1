import pytest

from unit.schemas.json_schema.compared import NEWEST, failure_of

STRING = {"type": "string"}
OLDER = {"$schema": "https://json-schema.org/draft/2019-09/schema"}
NEWER = {"$schema": NEWEST}


@pytest.mark.parametrize(
    ("schema", "fitting", "other", "failure"),
    [
        ({"properties": {"a": STRING}}, {"b": 1}, {"a": 1}, "#/a: 1 is not string (type at #/properties/a)"),
        ({"required": ["a"]}, {"a": None}, {}, "#: property 'a' is missing (required at #)"),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}, "#: 2 are too many for 1 (maxProperties at #)"),
        ({"minProperties": 1}, {"a": 1}, {}, "#: 0 are too few for 1 (minProperties at #)"),
        (
            {"patternProperties": {"^a": STRING}},
            {"b": 1},
            {"ab": 1},
            "#/ab: 1 is not string (type at #/patternProperties/^a)",
        ),
        (
            {"properties": {"a": {}}, "patternProperties": {"^b": {}}, "additionalProperties": False},
            {"a": 1, "bc": 2},
            {"c": 1},
            "#/c: the schema allows no value here (false at #/additionalProperties)",
        ),
        (
            {"additionalProperties": STRING},
            {"a": "x"},
            {"a": 1},
            "#/a: 1 is not string (type at #/additionalProperties)",
        ),
        (
            {"propertyNames": {"maxLength": 1}},
            {"a": 1},
            {"ab": 1},
            "#/ab: 2 characters are too many for 1 (maxLength at #/propertyNames)",
        ),
        (
            {"dependencies": {"a": ["b"]}},
            {"b": 1},
            {"a": 1},
            "#: property 'a' is there, so 'b' is missing (dependencies at #)",
        ),
        (
            {"dependencies": {"a": {"required": ["b"]}}},
            {"b": 1},
            {"a": 1},
            "#: property 'b' is missing (required at #/dependencies/a)",
        ),
        (
            {**OLDER, "dependentRequired": {"a": ["b"]}},
            {"a": 1, "b": 1},
            {"a": 1},
            "#: property 'a' is there, so 'b' is missing (dependentRequired at #)",
        ),
        ({"items": STRING}, ["x"], ["x", 1], "#/1: 1 is not string (type at #/items)"),
        ({"items": [STRING]}, ["x", 1], [1], "#/0: 1 is not string (type at #/items/0)"),
        (
            {"items": [STRING], "additionalItems": False},
            ["x"],
            ["x", 1],
            "#/1: the schema allows no value here (false at #/additionalItems)",
        ),
        ({"items": STRING, "additionalItems": False}, ["x", "y"], [1], "#/0: 1 is not string (type at #/items)"),
        ({**NEWER, "prefixItems": [STRING]}, ["x", 1], [1], "#/0: 1 is not string (type at #/prefixItems/0)"),
        ({**NEWER, "prefixItems": [{}], "items": STRING}, [1], [1, 2], "#/1: 2 is not string (type at #/items)"),
        ({"maxItems": 1}, [1], [1, 2], "#: 2 are too many for 1 (maxItems at #)"),
        ({"minItems": 1}, (1,), (), "#: 0 are too few for 1 (minItems at #)"),
        (
            {"uniqueItems": True},
            [1, True, "1", {"a": 1}, [1]],
            [{"a": 1, "b": [1]}, {"b": [1.0], "a": 1}],
            "#/1: the item was there before (uniqueItems at #)",
        ),
        ({"contains": STRING}, [1, "x"], [1], "#: 0 items match, where at least 1 must (contains at #)"),
        (
            {**OLDER, "contains": STRING, "minContains": 0, "maxContains": 1},
            [],
            ["x", "y"],
            "#: 2 items match, where at most 1 must (contains at #)",
        ),
    ],
)
def test_each_keyword(schema: object, fitting: object, other: object, failure: str) -> None:
    assert failure_of(schema, fitting) is None
    assert failure_of(schema, 5) is None
    assert failure_of(schema, other) == failure
