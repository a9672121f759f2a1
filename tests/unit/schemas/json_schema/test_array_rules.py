"""Items that are all alike, and tuples, whose content models are those of objects."""

import pytest

from unit.schemas.json_schema.compared import NEWEST, Findings, rules

STRING = {"type": "string"}
NUMBER = {"type": "number"}


def items(*first: object, more: object = None) -> dict[str, object]:
    schema: dict[str, object] = {"type": "array"}
    if first:
        schema["items"] = list(first)
    return schema if more is None else {**schema, "additionalItems": more}


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        ({"items": STRING}, {"items": NUMBER}, [("TYPE_CHANGED", "#/items")]),
        ({}, {"items": STRING}, [("SCHEMA_ADDED", "#/items")]),
        ({"items": STRING}, {}, []),
        (
            {"items": STRING, "additionalItems": False},
            items(NUMBER),
            [("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "#/items/0")],
        ),
        (items(STRING), items(NUMBER), [("TYPE_CHANGED", "#/items/0")]),
        # An item that came.
        (items(STRING), items(STRING, NUMBER), [("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "#/items/1")]),
        (items(STRING), items(STRING, True), []),
        (items(STRING, more=False), items(STRING, NUMBER, more=False), []),
        (items(STRING, more=NUMBER), items(STRING, NUMBER, more=NUMBER), []),
        (
            items(STRING, more=NUMBER),
            items(STRING, STRING, more=NUMBER),
            [
                ("TYPE_CHANGED", "#/items/1"),
                ("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/items/1"),
            ],
        ),
        # An item that went.
        (items(STRING, NUMBER), items(STRING), []),
        (
            items(STRING, NUMBER, more=False),
            items(STRING, more=False),
            [("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", "#/items/1")],
        ),
        (items(STRING, False, more=False), items(STRING, more=False), []),
        (items(STRING, NUMBER, more=False), items(STRING, more=NUMBER), []),
        (
            items(STRING, STRING, more=False),
            items(STRING, more=NUMBER),
            [
                ("TYPE_CHANGED", "#/items/1"),
                ("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "#/items/1"),
            ],
        ),
        # Other items.
        (items(STRING), items(STRING, more=False), [("ADDITIONAL_ITEMS_REMOVED", "#/additionalItems")]),
        (items(STRING), items(STRING, more=NUMBER), [("ADDITIONAL_ITEMS_NARROWED", "#/additionalItems")]),
        (items(STRING, more=STRING), items(STRING, more=NUMBER), [("TYPE_CHANGED", "#/additionalItems")]),
        (items(STRING, more=NUMBER), items(STRING), []),
        # Numbers of items.
        ({}, {"maxItems": 2}, [("MAX_ITEMS_ADDED", "#/maxItems")]),
        ({"maxItems": 2}, {"maxItems": 1}, [("MAX_ITEMS_DECREASED", "#/maxItems")]),
        ({}, {"minItems": 2}, [("MIN_ITEMS_ADDED", "#/minItems")]),
        ({"minItems": 1}, {"minItems": 2}, [("MIN_ITEMS_INCREASED", "#/minItems")]),
        ({}, {"uniqueItems": True}, [("UNIQUE_ITEMS_ADDED", "#/uniqueItems")]),
        ({"uniqueItems": True}, {}, []),
    ],
)
def test_each_rule(writer: dict[str, object], reader: dict[str, object], found: Findings) -> None:
    assert rules({"type": "array", **writer}, {"type": "array", **reader}) == found


@pytest.mark.parametrize(
    ("writer", "reader", "found"),
    [
        ({"prefixItems": [STRING]}, {"prefixItems": [NUMBER]}, [("TYPE_CHANGED", "#/items/0")]),
        (
            {"prefixItems": [STRING], "items": False},
            {"prefixItems": [STRING, NUMBER], "items": False},
            [],
        ),
        (
            {"prefixItems": [STRING], "items": NUMBER},
            {"prefixItems": [STRING], "items": STRING},
            [("TYPE_CHANGED", "#/additionalItems")],
        ),
        ({}, {"items": False}, [("ADDITIONAL_ITEMS_REMOVED", "#/additionalItems")]),
        ({}, {"items": True}, []),
        (
            {"contains": STRING},
            {"contains": STRING, "minContains": 2},
            [("MIN_CONTAINS_INCREASED", "#/minContains")],
        ),
        (
            {"contains": STRING},
            {"contains": STRING, "maxContains": 2},
            [("MAX_CONTAINS_ADDED", "#/maxContains")],
        ),
        ({}, {"unevaluatedItems": False}, [("UNEVALUATED_ITEMS_REMOVED", "#/unevaluatedItems")]),
        ({}, {"unevaluatedItems": STRING}, [("UNEVALUATED_ITEMS_NARROWED", "#/unevaluatedItems")]),
    ],
)
def test_the_words_of_2020(writer: dict[str, object], reader: dict[str, object], found: Findings) -> None:
    newest = {"$schema": NEWEST, "type": "array"}
    assert rules({**newest, **writer}, {**newest, **reader}) == found
