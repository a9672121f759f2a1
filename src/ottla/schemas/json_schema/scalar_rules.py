"""The rules for strings, numbers, and values that are listed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Any, Final

from ottla.schemas.json_schema.difference import Difference, compare_limits, differ
from ottla.schemas.json_schema.json_text import show_json, write_json
from ottla.schemas.json_schema.kinds import Constant, Enumeration, Number, Text

# Enough for the remainder of any two numbers that the bounds on their length and exponent allow.
_EXACT: Final = Context(prec=5000)
_SHOWN_MAX: Final = 200


def compare_texts(writer: Text, reader: Text) -> Iterator[Difference]:
    yield from compare_limits("maxLength", "MAX_LENGTH", writer.max_length, reader.max_length, writer, reader)
    yield from compare_limits("minLength", "MIN_LENGTH", writer.min_length, reader.min_length, writer, reader)
    if reader.pattern is not None and reader.pattern != writer.pattern:
        rule = "PATTERN_ADDED" if writer.pattern is None else "PATTERN_CHANGED"
        yield differ(rule, f"{writer.pattern} -> {reader.pattern}", writer, reader, "pattern")


def compare_numbers(writer: Number, reader: Number) -> Iterator[Difference]:
    yield from compare_limits("maximum", "MAXIMUM", writer.maximum, reader.maximum, writer, reader)
    yield from compare_limits("minimum", "MINIMUM", writer.minimum, reader.minimum, writer, reader)
    for keyword, rule, written, read in (
        ("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", writer.exclusive_maximum, reader.exclusive_maximum),
        ("exclusiveMinimum", "EXCLUSIVE_MINIMUM", writer.exclusive_minimum, reader.exclusive_minimum),
    ):
        yield from compare_limits(keyword, rule, written, read, writer, reader)
    if reader.multiple_of is not None and reader.multiple_of != writer.multiple_of:
        judgement = _judge_multiples(writer.multiple_of, reader.multiple_of)
        if judgement is not None:
            yield differ(
                judgement, f"multipleOf {writer.multiple_of} -> {reader.multiple_of}", writer, reader, "multipleOf"
            )
    if reader.is_integer and not writer.is_integer:
        yield differ("TYPE_NARROWED", "number -> integer", writer, reader)


def _judge_multiples(written: int | Decimal | None, read: int | Decimal) -> str | None:
    if written is None:
        return "MULTIPLE_OF_ADDED"
    if not _EXACT.remainder(Decimal(written), Decimal(read)):
        return None
    return "MULTIPLE_OF_CHANGED" if _EXACT.remainder(Decimal(read), Decimal(written)) else "MULTIPLE_OF_EXPANDED"


def compare_enumerations(writer: Enumeration, reader: Enumeration) -> Iterator[Difference]:
    written = {identify(value): value for value in writer.values}
    read = {identify(value) for value in reader.values}
    lost = [value for identity, value in written.items() if identity not in read]
    if lost:
        rule = "ENUM_ARRAY_NARROWED" if read <= written.keys() else "ENUM_ARRAY_CHANGED"
        yield differ(rule, f"without {show_json(lost, _SHOWN_MAX)}", writer, reader, "enum")


def compare_constants(writer: Constant, reader: Constant) -> Iterator[Difference]:
    if identify(writer.value) != identify(reader.value):
        detail = f"{show_json(writer.value, _SHOWN_MAX)} -> {show_json(reader.value, _SHOWN_MAX)}"
        yield differ("ENUM_ARRAY_CHANGED", detail, writer, reader, "const")


def identify(value: Any) -> str:
    """A text that two values share if JSON Schema takes them for equal: 1 and 1.0, and objects in any order."""
    return write_json(_plain(value), is_sorted=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value.normalize()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value
