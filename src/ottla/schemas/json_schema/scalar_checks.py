"""Checks of types, listed values, strings and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.checks import Check, Failure, KeywordCheck, State, identity_of, plain
from ottla.schemas.json_schema.documents import Place
from ottla.schemas.json_schema.drafts import DRAFT_4, Draft
from ottla.schemas.json_schema.json_text import show_json
from ottla.schemas.json_schema.patterns import compile_pattern

if TYPE_CHECKING:
    from ottla.schemas.json_schema.compiler import Compiler

_EXACT: Final = Context(prec=5000)
_SHOWN_MAX: Final = 100


def add_scalars(_compiler: Compiler, place: Place, check: Check) -> None:
    schema = place.contents
    types = schema.get("type")
    if types is not None:
        check.parts.append(_check_type([types] if isinstance(types, str) else types, place))
    if isinstance(schema.get("enum"), list):
        check.parts.append(_check_values("enum", schema["enum"], place))
    if "const" in schema and place.draft is not DRAFT_4:
        check.parts.append(_check_values("const", [schema["const"]], place))
    check.parts += _check_numbers(schema, place)
    check.parts += _check_texts(schema, place)


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def show(value: Any) -> str:
    return show_json(value, _SHOWN_MAX)


def is_limit(value: Any) -> TypeGuard[int | Decimal]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _check_type(types: list[str], place: Place) -> KeywordCheck:
    tests = [_types(place.draft)[name] for name in types]
    rule = f"type at {place.path}"
    wanted = " or ".join(types)

    def check(value: Any, _state: State) -> Failure | None:
        for test in tests:
            if test(value):
                return None
        return Failure(rule, f"{show(value)} is not {wanted}")

    return check


def _types(draft: Draft) -> dict[str, Callable[[Any], bool]]:
    def is_integer(value: Any) -> bool:
        if isinstance(value, float) and draft is not DRAFT_4:
            return value.is_integer()
        return isinstance(value, int) and not isinstance(value, bool)

    return {
        "string": lambda value: isinstance(value, str),
        "number": is_number,
        "integer": is_integer,
        "boolean": lambda value: isinstance(value, bool),
        "null": lambda value: value is None,
        "array": lambda value: isinstance(value, list | tuple),
        "object": lambda value: isinstance(value, dict),
    }


def _check_values(keyword: str, values: list[Any], place: Place) -> KeywordCheck:
    permitted = {identity_of(plain(value)) for value in values}
    rule = f"{keyword} at {place.path}"
    listed = show(values)

    def check(value: Any, _state: State) -> Failure | None:
        return None if identity_of(value) in permitted else Failure(rule, f"{show(value)} is none of {listed}")

    return check


def _check_numbers(schema: dict[str, Any], place: Place) -> Iterator[KeywordCheck]:
    for keyword in ("maximum", "minimum"):
        exclusive_keyword = f"exclusive{keyword.capitalize()}"
        limit, exclusive = schema.get(keyword), schema.get(exclusive_keyword)
        if is_limit(limit):
            # In draft 4 a boolean says whether the limit itself is excluded.
            yield _check_limit(keyword, plain(limit), keyword == "maximum", exclusive is True, place)
        if is_limit(exclusive):
            yield _check_limit(exclusive_keyword, plain(exclusive), keyword == "maximum", True, place)
    multiple = schema.get("multipleOf")
    if is_limit(multiple) and multiple > 0:
        yield _check_multiple(multiple, place)


def _check_limit(keyword: str, limit: int | float, is_upper: bool, is_exclusive: bool, place: Place) -> KeywordCheck:
    rule = f"{keyword} at {place.path}"
    detail = f"is {'above' if is_upper else 'below'}{' or at' if is_exclusive else ''} {limit}"

    def check(value: Any, _state: State) -> Failure | None:
        if not is_number(value):
            return None
        if value == limit:
            return Failure(rule, f"{value} {detail}") if is_exclusive else None
        return Failure(rule, f"{value} {detail}") if (value > limit) == is_upper else None

    return check


def _check_multiple(multiple: int | Decimal, place: Place) -> KeywordCheck:
    rule = f"multipleOf at {place.path}"

    def check(value: Any, _state: State) -> Failure | None:
        if not is_number(value):
            return None
        if isinstance(value, int) and isinstance(multiple, int):
            is_multiple = value % multiple == 0
        else:
            try:
                is_multiple = not _EXACT.remainder(Decimal(repr(value)), Decimal(multiple))
            except (InvalidOperation, ValueError):
                is_multiple = False
        return None if is_multiple else Failure(rule, f"{show(value)} is no multiple of {multiple}")

    return check


def _check_texts(schema: dict[str, Any], place: Place) -> Iterator[KeywordCheck]:
    for keyword in ("maxLength", "minLength"):
        if is_limit(schema.get(keyword)):
            yield _check_length(keyword, int(schema[keyword]), place)
    if isinstance(schema.get("pattern"), str):
        yield _check_pattern(schema["pattern"], place)


def _check_length(keyword: str, limit: int, place: Place) -> KeywordCheck:
    rule = f"{keyword} at {place.path}"
    is_upper = keyword == "maxLength"

    def check(value: Any, _state: State) -> Failure | None:
        if not isinstance(value, str) or len(value) == limit or (len(value) < limit) == is_upper:
            return None
        return Failure(rule, f"{len(value)} characters are too {'many' if is_upper else 'few'} for {limit}")

    return check


def _check_pattern(pattern: str, place: Place) -> KeywordCheck:
    search = searcher(pattern, place)
    rule = f"pattern at {place.path}"

    def check(value: Any, _state: State) -> Failure | None:
        if not isinstance(value, str) or search(value):
            return None
        return Failure(rule, f"{show(value)} does not match {pattern}")

    return check


def searcher(pattern: str, place: Place) -> Callable[[str], bool]:
    """InvalidSchema if the pattern cannot be run in linear time."""
    try:
        search = compile_pattern(pattern).search
    except InvalidSchema as error:
        raise InvalidSchema(f"{place.path}: values cannot be checked: {error}") from None

    def is_found(text: str) -> bool:
        try:
            return search(text) is not None
        except UnicodeEncodeError:
            # Half of a surrogate pair is no character, so nothing matches it.
            return False

    return is_found
