"""Values to bytes and back: compact JSON in UTF-8, checked with the schema."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Final, NoReturn

from ottla.schemas.errors import UnreadableData, UnwritableValue
from ottla.schemas.format import Decode, Encode
from ottla.schemas.json_schema.checks import Check, State, TooMuch
from ottla.schemas.json_schema.drafts import escape
from ottla.schemas.json_schema.json_text import BadJson, check_depth

DEPTH_MAX: Final = 100
# A value's size is counted before its bytes are known: about what a node of it takes.
_BYTES_PER_NODE: Final = 10


def make_encoder(check: Check) -> Encode:
    def encode(value: object) -> bytes:
        size = _measure(value)
        try:
            failure = check(value, State(size, is_reading=False))
            if failure is not None:
                raise UnwritableValue(str(failure))
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except TooMuch as error:
            raise UnwritableValue(str(error)) from None
        except UnicodeEncodeError as error:
            raise UnwritableValue(f"a string has half of a surrogate pair, which UTF-8 cannot write: {error}") from None

    return encode


def make_decoder(check: Check) -> Decode:
    def decode(data: bytes) -> object:
        try:
            text = str(data, "utf-8")
            check_depth(text, DEPTH_MAX)
            value: object = json.loads(text, parse_float=_read_float, parse_constant=_refuse)
            failure = check(value, State(len(text), is_reading=True))
        except UnicodeDecodeError as error:
            raise UnreadableData(f"the data are not UTF-8, so they are not JSON: {error}") from None
        except (BadJson, TooMuch) as error:
            raise UnreadableData(str(error)) from None
        except ValueError as error:
            raise UnreadableData(f"the data are not JSON: {error}") from None
        if failure is not None:
            raise UnreadableData(str(failure))
        return value

    return decode


def _read_float(literal: str) -> float:
    number = float(literal)
    if not isfinite(number):
        raise BadJson(f"{literal[:50]} is too large for a double")
    return number


def _refuse(constant: str) -> NoReturn:
    raise BadJson(f"{constant} is not JSON")


def _measure(value: object) -> int:
    """Roughly the bytes of a value; UnwritableValue for what JSON has no words for, and for what is too deep."""
    count = 0
    left: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while left:
        node, path = left.pop()
        count += 1
        if isinstance(node, dict | list | tuple):
            if len(path) == DEPTH_MAX:
                raise UnwritableValue(f"the value is nested deeper than {DEPTH_MAX} levels, or contains itself")
            if isinstance(node, dict):
                strange = next((name for name in node if not isinstance(name, str)), None)
                if strange is not None:
                    raise UnwritableValue(f"{_pointer(path)}: {strange!r} is no name of a property, which is a str")
            items = node.items() if isinstance(node, dict) else enumerate(node)
            left += [(item, (*path, step)) for step, item in items]
        elif isinstance(node, float) and not isfinite(node):
            raise UnwritableValue(f"{_pointer(path)}: {node} is not JSON")
        elif node is not None and not isinstance(node, str | int | float):
            raise UnwritableValue(f"{_pointer(path)}: {type(node).__name__} is not JSON; convert it first")
    return count * _BYTES_PER_NODE


def _pointer(path: tuple[str | int, ...]) -> str:
    return "#" + "".join(f"/{escape(str(step))}" for step in path)
