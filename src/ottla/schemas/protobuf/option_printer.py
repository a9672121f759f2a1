"""Options as text, laid out as Confluent's registry does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ottla.schemas.protobuf.elements import Aggregate, Listed, Option, OptionValue, Quoted, Word
from ottla.schemas.protobuf.literals import write_literal


def print_statement(option: Option) -> str:
    return f"option {_print_option(option)};\n"


def print_bracketed(options: Sequence[Option]) -> str:
    """` [...]` after a field, a constant or a range; nothing for no options."""
    if not options:
        return ""
    if len(options) == 1:
        return f" [{_print_option(options[0])}]"
    return f" [\n{_print_rows(map(_print_option, options))}]"


def indent(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.removesuffix("\n").split("\n"))


def _print_option(option: Option) -> str:
    name = f"({option.name}){option.rest}" if option.is_custom else option.name
    return f"{name} = {_print_value(option.value)}"


def _print_value(value: OptionValue) -> str:
    if isinstance(value, Word):
        return value.text
    if isinstance(value, Quoted):
        return write_literal(value.data)
    if isinstance(value, Listed):
        return f"[\n{_print_rows(map(_print_value, value.values))}]"
    return _print_aggregate(value)


def _print_aggregate(value: Aggregate) -> str:
    return f"{{\n{_print_rows(f'{key}: {_print_value(item)}' for key, item in value.items)}}}"


def _print_rows(rows: Iterable[str]) -> str:
    listed = list(rows)
    return "".join(indent(row + ("," if number < len(listed) else "")) for number, row in enumerate(listed, 1))
