import pytest

from unit.schemas.json_schema.compared import Findings, rules

STRING = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
RED = {"enum": ["red"]}


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        # Sums.
        ({"oneOf": [STRING]}, {"oneOf": [NUMBER, STRING]}, []),
        ({"oneOf": [NUMBER, STRING]}, {"oneOf": [STRING]}, [("SUM_TYPE_NARROWED", "#/")]),
        ({"oneOf": [STRING]}, {"oneOf": [NUMBER]}, [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/")]),
        ({"type": ["object"]}, {"type": ["object", "array"]}, []),
        ({"type": ["string", "null"]}, {"type": "string"}, [("TYPE_CHANGED", "#/")]),
        (STRING, {"oneOf": [NUMBER, STRING]}, []),
        (STRING, {"anyOf": [NUMBER, STRING]}, []),
        (STRING, {"anyOf": [NUMBER, {"type": "null"}]}, [("TYPE_CHANGED", "#/")]),
        # Products.
        ({"type": "string", **RED}, STRING, []),
        (STRING, {"type": "string", **RED}, [("TYPE_CHANGED", "#/")]),
        ({"allOf": [RED, STRING]}, {"allOf": [STRING]}, []),
        ({"allOf": [STRING]}, {"allOf": [RED, STRING]}, [("PRODUCT_TYPE_EXTENDED", "#/")]),
        ({"allOf": [STRING, RED]}, {"allOf": [{"enum": ["red", "blue"]}, STRING]}, []),
        (
            {"allOf": [STRING, RED]},
            {"allOf": [STRING, {"enum": ["blue"]}]},
            [("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/")],
        ),
        ({"allOf": [STRING]}, {"allOf": [STRING, STRING]}, []),
        # One of them alone is what it has.
        (STRING, {"allOf": [STRING]}, []),
        ({"allOf": [STRING]}, STRING, []),
        (STRING, {"allOf": [NUMBER, STRING]}, [("TYPE_CHANGED", "#/")]),
        # From one criterion to another.
        ({"oneOf": [STRING, NUMBER]}, {"anyOf": [STRING, NUMBER]}, []),
        ({"allOf": [STRING]}, {"anyOf": [NUMBER, STRING]}, []),
        ({"anyOf": [STRING]}, {"oneOf": [NUMBER, STRING]}, []),
        ({"anyOf": [STRING, NUMBER]}, {"oneOf": [STRING, NUMBER]}, [("COMBINED_TYPE_CHANGED", "#/")]),
        ({"oneOf": [STRING]}, {"allOf": [STRING]}, []),
        ({"anyOf": [STRING]}, {"allOf": [NUMBER, STRING]}, [("COMBINED_TYPE_CHANGED", "#/")]),
        # Negations.
        ({"not": NUMBER}, {"not": INTEGER}, []),
        ({"not": INTEGER}, {"not": NUMBER}, [("NOT_TYPE_EXTENDED", "#/not")]),
        # References are what they lead to.
        (STRING, {"$ref": "#/definitions/a", "definitions": {"a": STRING}}, []),
        ({"$ref": "#/definitions/a", "definitions": {"a": STRING}}, STRING, []),
        ({"$ref": "#/definitions/a", "definitions": {"a": STRING}}, NUMBER, [("TYPE_CHANGED", "#/")]),
    ],
)
def test_each_rule(writer: object, reader: object, found: Findings) -> None:
    assert rules(writer, reader) == found


@pytest.mark.parametrize(("year", "keyword"), [("2019-09", "$recursiveRef"), ("2020-12", "$dynamicRef")])
def test_references_of_newer_drafts_lead_somewhere_too(year: str, keyword: str) -> None:
    def schema(leaf: object) -> dict[str, object]:
        draft = f"https://json-schema.org/draft/{year}/schema"
        return {"$schema": draft, "type": "object", "properties": {"a": {keyword: "#"}, "b": leaf}}

    assert rules(schema(INTEGER), schema(NUMBER)) == []
    assert rules(schema(NUMBER), schema(INTEGER)) == [("TYPE_NARROWED", "#/properties/b")]
    unfolded = {**schema(INTEGER), "properties": {"a": STRING, "b": INTEGER}}
    assert rules(schema(INTEGER), unfolded) == [("TYPE_CHANGED", "#/properties/a")]


def test_pairs_are_found_even_if_others_have_to_give_way() -> None:
    """The first alternative reads both; only one of the writers has a second choice."""
    short, long = {"type": "string", "maxLength": 1}, {"type": "string", "maxLength": 9}
    assert rules({"anyOf": [short, long]}, {"anyOf": [{"type": "string", "maxLength": 9}, {"maxLength": 5}]}) == []
    three = [{"type": "number", "maximum": limit} for limit in (1, 2, 3)]
    assert rules({"anyOf": three}, {"anyOf": three[::-1]}) == []


def test_long_lists_of_alternatives_are_not_compared_each_with_each() -> None:
    many = {"oneOf": [{"const": number} for number in range(2000)]}
    assert rules(many, many) == []
