import pytest

from ottla.schemas.json_schema.drafts import (
    DRAFT_4,
    DRAFT_7,
    DRAFT_2019_09,
    DRAFT_2020_12,
    cut_subschemas,
    draft_of,
    references_in,
    subschemas,
)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("http://json-schema.org/draft-04/schema#", "4"),
        ("http://json-schema.org/draft-06/schema", "6"),
        ("https://json-schema.org/draft-07/schema#", "7"),
        ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
        ("https://json-schema.org/draft/2020-12/schema#", "2020-12"),
        ("http://json-schema.org/schema#", "7"),
        ("nonsense", "7"),
        (5, "7"),
    ],
)
def test_a_schema_names_its_draft(uri: object, name: str) -> None:
    assert draft_of({"$schema": uri}).name == name


def test_without_a_name_it_is_draft_7() -> None:
    assert draft_of({}) is draft_of(True) is DRAFT_7


def test_subschemas_are_where_the_draft_has_them() -> None:
    schema = {
        "properties": {"a/b": {}},
        "items": [{}, True],
        "dependencies": {"a": ["b"], "c": {}},
        "not": {},
        "if": {},
        "prefixItems": [{}],
        "enum": [{}],
        "x-note": {"properties": {}},
    }
    old = ["properties/a~1b", "items/0", "items/1", "dependencies/c", "not"]
    assert [step for step, _ in subschemas(schema, DRAFT_4)] == old
    assert [step for step, _ in subschemas(schema, DRAFT_7)] == [*old, "if"]
    assert [step for step, _ in subschemas(schema, DRAFT_2020_12)] == [*old, "if", "prefixItems/0"]
    assert list(subschemas({"$ref": "#", "not": {}}, DRAFT_7)) == []
    assert list(subschemas({"$ref": "#", "not": {}}, DRAFT_2020_12)) == [("not", {})]


def test_a_schema_alone_has_its_subschemas_cut_off() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "x"}, "b": 5}, "items": [{"a": 1}], "not": {"b": 2}}
    assert cut_subschemas(schema, DRAFT_7) == {
        "type": "object",
        "properties": {"a": {}, "b": 5},
        "items": [{}],
        "not": {},
    }


def test_references_have_the_names_of_their_draft() -> None:
    schema = {"$ref": "a", "$dynamicRef": "b", "$recursiveRef": "c", "x": "d"}
    assert references_in(schema, DRAFT_7) == ["a"]
    assert references_in(schema, DRAFT_2019_09) == ["a", "c"]
    assert references_in(schema, DRAFT_2020_12) == ["a", "b"]
    assert references_in({"$ref": 5}, DRAFT_7) == []


def test_a_draft_knows_its_keywords() -> None:
    assert {"type", "$ref", "properties"} <= DRAFT_7.known & DRAFT_2020_12.known
    assert "unevaluatedItems" in DRAFT_2020_12.known - DRAFT_7.known
    assert "x-note" not in DRAFT_2020_12.known
