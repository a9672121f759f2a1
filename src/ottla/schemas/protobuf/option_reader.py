"""Options as .proto source writes them, with their aggregates in protobuf's text format."""

from __future__ import annotations

from ottla.schemas.protobuf.elements import Aggregate, Listed, Option, OptionValue, Quoted, Word
from ottla.schemas.protobuf.token_cursor import TokenCursor

_CLOSING = {"{": "}", "<": ">"}


def read_option(cursor: TokenCursor) -> Option:
    """`name = value`, without what comes before and after it."""
    is_custom = cursor.peeked == "("
    name = _read_custom_part(cursor)[1:-1] if is_custom else cursor.take()
    rest = ""
    while cursor.take_if("."):
        rest += "." + (_read_custom_part(cursor) if cursor.peeked == "(" else cursor.take())
    cursor.expect("=")
    # Parts of an option of the language itself (`features.enum_type`) belong to its name.
    return Option(name, _read_value(cursor), True, rest) if is_custom else Option(name + rest, _read_value(cursor))


def read_options(cursor: TokenCursor) -> tuple[Option, ...]:
    """`[name = value, ...]`, or nothing."""
    options = []
    if cursor.take_if("["):
        while not cursor.take_if("]"):
            options.append(read_option(cursor))
            cursor.take_if(",")
    return tuple(options)


def _read_custom_part(cursor: TokenCursor) -> str:
    cursor.expect("(")
    name = cursor.take_name()
    cursor.expect(")")
    return f"({name})"


def _read_value(cursor: TokenCursor) -> OptionValue:
    if cursor.peeked in _CLOSING:
        return _read_aggregate(cursor)
    if cursor.peeked == "[":
        return _read_list(cursor)
    if cursor.is_at_literal:
        return Quoted(cursor.take_literal())
    sign = "-" if cursor.take_if("-") else ""
    cursor.take_if("+")
    return Word(sign + cursor.take_name())


def _read_list(cursor: TokenCursor) -> Listed:
    cursor.expect("[")
    values = []
    while not cursor.take_if("]"):
        values.append(_read_value(cursor))
        cursor.take_if(",")
    return Listed(tuple(values))


def _read_aggregate(cursor: TokenCursor) -> Aggregate:
    closing = _CLOSING[cursor.take()]
    items: dict[str, OptionValue] = {}
    while not cursor.take_if(closing):
        key = _read_key(cursor)
        cursor.take_if(":")
        value = _read_value(cursor)
        items[key] = join_values(items[key], value) if key in items else value
        if not cursor.take_if(","):
            cursor.take_if(";")
    return Aggregate(tuple(items.items()))


def _read_key(cursor: TokenCursor) -> str:
    if not cursor.take_if("["):
        return cursor.take()
    # An extension, or the address of a type within google.protobuf.Any.
    key = ""
    while not cursor.take_if("]"):
        key += cursor.take()
    return f"[{key}]"


def join_values(first: OptionValue, second: OptionValue) -> OptionValue:
    """Two values under one key, which are a list."""
    values: tuple[OptionValue, ...] = ()
    for value in (first, second):
        values += value.values if isinstance(value, Listed) else (value,)
    return Listed(values)
