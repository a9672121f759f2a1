"""The rules for arrays: items that are all alike, tuples, and what may follow the first items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.schemas.json_schema.difference import Difference, compare_limits, differ
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.kinds import Anything, Array, Nothing
from ottla.schemas.json_schema.object_rules import compare_unevaluated

if TYPE_CHECKING:
    from ottla.schemas.json_schema.comparison import Comparison

_LIMITS = (
    ("maxItems", "MAX_ITEMS"),
    ("minItems", "MIN_ITEMS"),
    ("maxContains", "MAX_CONTAINS"),
    ("minContains", "MIN_CONTAINS"),
)


def compare_arrays(comparison: Comparison, writer: Array, reader: Array) -> Iterator[Difference]:
    for difference in comparison.compare(writer.items, reader.items):
        yield difference.below("items")
    for index in range(max(len(writer.tuple_items), len(reader.tuple_items))):
        for difference in _compare_item(comparison, writer, reader, index):
            yield difference.below("items", str(index))
    for difference in _compare_more(comparison, writer, reader):
        yield difference.below("additionalItems")
    for difference in compare_unevaluated(comparison, writer, reader, "UNEVALUATED_ITEMS"):
        yield difference.below("unevaluatedItems")
    for keyword, rule in _LIMITS:
        yield from compare_limits(keyword, rule, writer.limits.get(keyword), reader.limits.get(keyword), writer, reader)
    if reader.is_unique and not writer.is_unique:
        yield differ("UNIQUE_ITEMS_ADDED", "items must differ", writer, reader, "uniqueItems")


def _compare_item(comparison: Comparison, writer: Array, reader: Array, index: int) -> Iterator[Difference]:
    if index < len(writer.tuple_items) and index < len(reader.tuple_items):
        yield from comparison.compare(writer.tuple_items[index], reader.tuple_items[index])
    elif index < len(writer.tuple_items):
        yield from _compare_removed(comparison, writer, reader, writer.tuple_items[index])
    else:
        yield from _compare_added(comparison, writer, reader, reader.tuple_items[index])


def _compare_removed(comparison: Comparison, writer: Array, reader: Array, written: Place) -> Iterator[Difference]:
    if _is_open(comparison, reader):
        return
    covering = _find_covering(comparison, reader)
    if covering is not None:
        found = comparison.compare(written, covering)
        if found:
            yield from found
            rule = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield differ(rule, f"it does not fit {covering.path}", writer, reader)
    elif not isinstance(comparison.kinds.of(written), Nothing):
        yield differ("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", "the item is gone", writer, reader)


def _compare_added(comparison: Comparison, writer: Array, reader: Array, read: Place) -> Iterator[Difference]:
    if _is_open(comparison, writer):
        if not isinstance(comparison.kinds.of(read), Anything):
            detail = "the item may have been written with any value"
            yield differ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", detail, writer, reader)
        return
    covering = _find_covering(comparison, writer)
    if covering is not None:
        found = comparison.compare(covering, read)
        if found:
            yield from found
            rule = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            yield differ(rule, f"it may have been written as {covering.path}", writer, reader)


def _compare_more(comparison: Comparison, writer: Array, reader: Array) -> Iterator[Difference]:
    if writer.has_more and not reader.has_more:
        yield differ("ADDITIONAL_ITEMS_REMOVED", "other items are gone", writer, reader)
    elif writer.has_more and writer.more is None and reader.more is not None:
        yield differ("ADDITIONAL_ITEMS_NARROWED", f"others must fit {reader.more.path}", writer, reader)
    elif writer.more is not None and reader.more is not None:
        yield from comparison.compare(writer.more, reader.more)


def _is_open(comparison: Comparison, schema: Array) -> bool:
    if schema.more is not None or not schema.has_more:
        return False
    return schema.unevaluated is None or isinstance(comparison.kinds.of(schema.unevaluated), Anything)


def _find_covering(comparison: Comparison, schema: Array) -> Place | None:
    if schema.more is not None or not schema.has_more or schema.unevaluated is None:
        return schema.more
    return None if isinstance(comparison.kinds.of(schema.unevaluated), Nothing) else schema.unevaluated
