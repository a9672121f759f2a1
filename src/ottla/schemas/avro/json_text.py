"""JSON as Jackson reads and writes it, since a registry's texts and their hashes come from there.

Read: comments are allowed, the last of two equal keys wins, NaN and Infinity are no numbers. Written: no white space,
Java's form of floating point numbers, and nothing escaped that need not be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from ottla.schemas.errors import InvalidSchema

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

# Three levels for each record in a record, and what defaults and attributes may have.
DEPTH_MAX: Final = 400

# Ends of strings and comments may be missing: then they reach to the end, so that each character is looked at once.
_STRING_OR_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_ESCAPES: Final = {chr(code): f"\\u{code:04X}" for code in range(32)} | {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_TO_ESCAPE: Final = re.compile(r'["\\\x00-\x1f]')


def read(text: str) -> Json:
    """Raises InvalidSchema."""
    if "/*" in text or "//" in text:
        text = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise InvalidSchema(f"not JSON: {error}: {_excerpt(text)}") from None
    if is_deeper(value, DEPTH_MAX):
        raise _too_deep()
    return value


def write(value: Json) -> str:
    parts: list[str] = []
    _write(value, parts)
    return "".join(parts)


def write_string(text: str) -> str:
    return f'"{_TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)}"'


def sort_keys(value: Json) -> Json:
    """The same value with the keys of all objects in order."""
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [sort_keys(item) for item in value]
    return value


def is_deeper(value: Json, levels: int) -> bool:
    """Whether lists and objects are nested in more than so many levels."""
    level: list[Json] = [value]
    for _ in range(levels + 1):
        containers = [one for one in level if isinstance(one, dict | list)]
        if not containers:
            return False
        level = [inner for one in containers for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def shorten(value: object) -> str:
    """A value for a message."""
    shown = repr(value) if not isinstance(value, str | Mapping | list) else json.dumps(value, default=repr)
    return _excerpt(shown)


def _excerpt(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no number in JSON")


def _too_deep() -> InvalidSchema:
    return InvalidSchema(f"nested deeper than {DEPTH_MAX} levels of JSON; give inner types names and refer to them")


def _write(value: Json, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(write_string(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int):
        parts.append(str(value))
    elif isinstance(value, float):
        parts.append(_write_float(value))
    elif isinstance(value, Mapping):
        separator = "{"
        for key, inner in value.items():
            parts.append(f"{separator}{write_string(key)}:")
            _write(inner, parts)
            separator = ","
        parts.append("}" if separator == "," else "{}")
    else:
        separator = "["
        for inner in value:
            parts.append(separator)
            _write(inner, parts)
            separator = ","
        parts.append("]" if separator == "," else "[]")


def _write_float(value: float) -> str:
    """As Java does: digits with a point between a thousandth and ten million, else with an exponent."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = repr(value).partition("e")
    sign = "-" if value < 0 else ""
    whole, _, fraction = digits.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    power = int(exponent or 0) + len(whole) - 1
    # Zeros in front, as in 0.0001, are no digits.
    significant = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(significant)
    significant = significant.rstrip("0")
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{power}"
