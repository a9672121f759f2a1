"""Regular expressions that take linear time.

Patterns come from whoever registers a schema, and are run on whatever somebody produces. So values are matched with
RE2, which cannot explode, and which knows neither look-around nor back references. A schema that has them is accepted,
since other languages may well use it, but values cannot be checked with it here. What is no regular expression in any
language is refused.

JSON Schema writes patterns as ECMAScript does: `\\u0041`, `\\cA` and `[^]` are spelt differently in RE2. Everything
else that both know means the same, also `\\d`, `\\w` and `$`.
"""

from __future__ import annotations

import re
from typing import Any, Final

import re2

from ottla.schemas.errors import InvalidSchema

LENGTH_MAX: Final = 4096
_GROUPS_MAX: Final = 100
_BYTES_MAX: Final = 2 * 1024 * 1024
_SPELT_DIFFERENTLY: Final = re.compile(
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<unit>[0-9a-fA-F]{4})|\\u\{(?P<point>[0-9a-fA-F]{1,6})\}"
    r"|\\c(?P<control>[A-Za-z])|(?P<any>\[\^\])|\\.",
    re.DOTALL,
)


class Unsupported(InvalidSchema):
    """A regular expression, but none that runs in linear time."""


def check_pattern(pattern: str) -> None:
    """InvalidSchema if it is no regular expression."""
    try:
        compile_pattern(pattern)
    except Unsupported as unsupported:
        if pattern.count("(") > _GROUPS_MAX:
            raise InvalidSchema(f"it has more than {_GROUPS_MAX} groups") from None
        try:
            re.compile(_respell(pattern, "\\U{:08x}"))
        except (re.error, OverflowError, RecursionError):
            raise InvalidSchema(str(unsupported)) from None


def compile_pattern(pattern: str) -> Any:
    """Something with `search`; Unsupported if RE2 cannot do it."""
    if len(pattern) > LENGTH_MAX:
        raise InvalidSchema(f"a pattern may have {LENGTH_MAX} characters, this one has {len(pattern)}")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _BYTES_MAX
    try:
        return re2.compile(_respell(pattern, "\\x{{{:x}}}"), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "it is too large"
        raise Unsupported(
            f"RE2 cannot run {pattern!r}: {reason}; it knows neither look-around nor back references, "
            "nor many repetitions"
        ) from None


def _respell(pattern: str, code: str) -> str:
    def respell(found: re.Match[str]) -> str:
        if found["high"]:
            return code.format(0x10000 + (int(found["high"], 16) - 0xD800) * 0x400 + int(found["low"], 16) - 0xDC00)
        for name in ("unit", "point"):
            if found[name]:
                return code.format(int(found[name], 16))
        if found["control"]:
            return code.format(ord(found["control"]) % 32)
        return r"[\s\S]" if found["any"] else found.group()

    return _SPELT_DIFFERENTLY.sub(respell, pattern)
