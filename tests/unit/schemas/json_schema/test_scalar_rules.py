"""One case for each rule: what the writer has, what the reader has, and what is found; and the other way round."""

import pytest

from ottla.schemas.json_schema.scalar_rules import identify
from unit.schemas.json_schema.compared import Findings, rules


def text(**keywords: object) -> object:
    return {"type": "string", **keywords}


def number(**keywords: object) -> object:
    return {"type": "number", **keywords}


@pytest.mark.parametrize(
    ("writer", "reader", "found", "found_backwards"),
    [
        (text(), text(maxLength=5), [("MAX_LENGTH_ADDED", "#/maxLength")], []),
        (text(maxLength=5), text(maxLength=4), [("MAX_LENGTH_DECREASED", "#/maxLength")], []),
        (text(), text(minLength=5), [("MIN_LENGTH_ADDED", "#/minLength")], []),
        (text(minLength=4), text(minLength=5), [("MIN_LENGTH_INCREASED", "#/minLength")], []),
        (text(), text(pattern="^a"), [("PATTERN_ADDED", "#/pattern")], []),
        (
            text(pattern="^a"),
            text(pattern="^b"),
            [("PATTERN_CHANGED", "#/pattern")],
            [("PATTERN_CHANGED", "#/pattern")],
        ),
        (number(), number(maximum=5), [("MAXIMUM_ADDED", "#/maximum")], []),
        (number(maximum=5), number(maximum=4.5), [("MAXIMUM_DECREASED", "#/maximum")], []),
        (number(), number(minimum=5), [("MINIMUM_ADDED", "#/minimum")], []),
        (number(minimum=-1e3), number(minimum=5), [("MINIMUM_INCREASED", "#/minimum")], []),
        (number(), number(exclusiveMaximum=5), [("EXCLUSIVE_MAXIMUM_ADDED", "#/exclusiveMaximum")], []),
        (
            number(exclusiveMaximum=5),
            number(exclusiveMaximum=4),
            [("EXCLUSIVE_MAXIMUM_DECREASED", "#/exclusiveMaximum")],
            [],
        ),
        (number(), number(exclusiveMinimum=5), [("EXCLUSIVE_MINIMUM_ADDED", "#/exclusiveMinimum")], []),
        (
            number(exclusiveMinimum=4),
            number(exclusiveMinimum=5),
            [("EXCLUSIVE_MINIMUM_INCREASED", "#/exclusiveMinimum")],
            [],
        ),
        (number(), number(multipleOf=5), [("MULTIPLE_OF_ADDED", "#/multipleOf")], []),
        (number(multipleOf=2), number(multipleOf=10), [("MULTIPLE_OF_EXPANDED", "#/multipleOf")], []),
        (number(multipleOf=0.1), number(multipleOf=0.5), [("MULTIPLE_OF_EXPANDED", "#/multipleOf")], []),
        (
            number(multipleOf=10),
            number(multipleOf=11),
            [("MULTIPLE_OF_CHANGED", "#/multipleOf")],
            [("MULTIPLE_OF_CHANGED", "#/multipleOf")],
        ),
        (number(), {"type": "integer"}, [("TYPE_NARROWED", "#/")], []),
        (text(), number(), [("TYPE_CHANGED", "#/")], [("TYPE_CHANGED", "#/")]),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, [("ENUM_ARRAY_NARROWED", "#/enum")], []),
        ({"enum": ["a"]}, {"enum": ["b"]}, [("ENUM_ARRAY_CHANGED", "#/enum")], [("ENUM_ARRAY_CHANGED", "#/enum")]),
        ({"const": 1}, {"const": 2}, [("ENUM_ARRAY_CHANGED", "#/const")], [("ENUM_ARRAY_CHANGED", "#/const")]),
        ({"const": 1}, {"const": 1.0}, [], []),
        (text(title="a"), text(title="b", description="c", default="d"), [], []),
        ({}, text(), [("TYPE_CHANGED", "#/")], []),
        (False, text(), [], [("TYPE_CHANGED", "#/")]),
    ],
)
def test_each_rule(writer: object, reader: object, found: Findings, found_backwards: Findings) -> None:
    assert rules(writer, reader) == found
    assert rules(reader, writer) == found_backwards


def test_exclusive_limits_of_draft_4_are_limits() -> None:
    draft = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "maximum": 5}
    assert rules(draft, {**draft, "exclusiveMaximum": True}) == [("EXCLUSIVE_MAXIMUM_ADDED", "#/exclusiveMaximum")]
    assert rules({**draft, "exclusiveMaximum": True}, draft) == []


def test_values_are_equal_as_json_schema_has_it() -> None:
    assert identify({"a": 1, "b": [True]}) == identify({"b": [True], "a": 1})
    assert identify(1) != identify(True)
    assert identify("1") != identify(1)
