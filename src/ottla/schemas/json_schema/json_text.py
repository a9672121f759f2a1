"""JSON as text: read with bounds, and written as Confluent's registry writes it.

The registry stores what Jackson makes of a tree: no white space, keys in their own order, text beyond ASCII as it is,
control characters as `\\u001F`, and numbers with a fraction or an exponent as Java's BigDecimal prints them: `1.0`
stays `1.0`, `1e5` becomes `1E+5`. So such numbers are read as Decimals, which print by the same rules.

Jackson's bound for the length of a number is kept. Its bound for depth, 1000, is more than Python's stack allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NoReturn

DEPTH_MAX: Final = 200
NUMBER_LENGTH_MAX: Final = 1000
# Numbers beyond have no use, and their digits would fill the memory if somebody wrote them out.
_EXPONENT_MAX: Final = 1000
_STRINGS_AND_BRACKETS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


class BadJson(ValueError):
    """The text is no JSON, or more than the bounds allow."""


def read_json(text: str) -> object:
    """The tree, whose numbers with a fraction or an exponent are Decimals."""
    check_depth(text, DEPTH_MAX)
    try:
        tree: object = json.loads(text, parse_float=_read_decimal, parse_int=_read_int, parse_constant=_refuse)
        text.encode()
    except BadJson:
        raise
    except UnicodeEncodeError as error:
        raise BadJson(f"position {error.start} has half of a surrogate pair, which no encoding can write") from None
    except ValueError as error:
        raise BadJson(f"this is not JSON: {error}") from None
    _refuse_half_pairs(tree)
    return tree


def check_depth(text: str, depth_max: int) -> None:
    if text.count("[") + text.count("{") <= depth_max:
        return
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        character = text[found.start()]
        if character in "[{":
            depth += 1
            if depth > depth_max:
                raise BadJson(f"arrays and objects are nested deeper than {depth_max} levels at {found.start()}")
        elif character in "]}":
            depth -= 1


def write_json(tree: object, *, is_sorted: bool = False) -> str:
    return "".join(_pieces(tree, is_sorted))


def show_json(tree: object, length_max: int) -> str:
    """For people: the beginning of what may be long."""
    shown = ""
    for piece in _pieces(tree, is_sorted=False):
        shown += piece
        if len(shown) > length_max:
            return f"{shown[:length_max]}..."
    return shown


def _pieces(tree: object, is_sorted: bool) -> Iterator[str]:
    if isinstance(tree, dict):
        opening = "{"
        for name in sorted(tree, key=_utf16) if is_sorted else tree:
            yield f"{opening}{_write_text(name)}:"
            yield from _pieces(tree[name], is_sorted)
            opening = ","
        yield "}" if tree else "{}"
    elif isinstance(tree, list):
        opening = "["
        for item in tree:
            yield opening
            yield from _pieces(item, is_sorted)
            opening = ","
        yield "]" if tree else "[]"
    else:
        yield _write_scalar(tree)


def _write_scalar(value: object) -> str:
    if isinstance(value, str):
        return _write_text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _write_text(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"


def _utf16(name: str) -> bytes:
    # Java's order of strings, which differs from Python's beyond U+FFFF.
    return name.encode("utf-16-be")


def _read_decimal(literal: str) -> Decimal:
    _check_length(literal)
    exponent = literal.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > _EXPONENT_MAX:
        raise BadJson(f"the exponent of {literal} is beyond {_EXPONENT_MAX}")
    number = Decimal(literal)
    # BigDecimal knows no negative zero.
    return number if number else number.copy_abs()


def _read_int(literal: str) -> int:
    _check_length(literal)
    return int(literal)


def _check_length(literal: str) -> None:
    if len(literal) > NUMBER_LENGTH_MAX:
        raise BadJson(f"a number has {len(literal)} digits, at most {NUMBER_LENGTH_MAX} are read")


def _refuse(constant: str) -> NoReturn:
    raise BadJson(f"{constant} is not JSON")


def _refuse_half_pairs(tree: object) -> None:
    """Escapes can make strings that no encoding can write, such as "\\ud800"."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            left += node
            left += node.values()
        elif isinstance(node, list):
            left += node
        elif isinstance(node, str):
            try:
                node.encode()
            except UnicodeEncodeError:
                raise BadJson(f"{node!a} has half of a surrogate pair, which no encoding can write") from None
