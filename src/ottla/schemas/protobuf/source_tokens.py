"""The words of .proto source, and how deep its brackets go.

protoc reads aggregates of options by recursion without a bound, on the stack of this process: a text with brackets
deeper than anybody writes by hand is refused before protoc sees it. What is no token of the language is a token of one
character here: protoc will name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ottla.schemas.errors import InvalidSchema

DEPTH_MAX: Final = 64
_CLOSING: Final = {"{": "}", "[": "]", "(": ")", "<": ">"}
_TOKEN: Final = re.compile(
    r"""
    (?P<skipped> \s+ | //[^\n]* | /\*.*?\*/ | \ufeff )
  | (?P<quoted> "(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*' )
  | (?P<number> \.?[0-9](?:[eE][+-]|[\w.])* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<symbol> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def split(source: str) -> Iterator[str]:
    """The tokens of a text; those that begin with a quote are literals."""
    for match in _TOKEN.finditer(source):
        if match.lastgroup != "skipped":
            yield match.group()


def check_depth(source: str) -> None:
    """InvalidSchema if brackets are nested more than DEPTH_MAX deep."""
    awaited: list[str] = []
    for match in _TOKEN.finditer(source):
        token = match.group()
        if token in _CLOSING:
            awaited.append(_CLOSING[token])
            if len(awaited) > DEPTH_MAX:
                line = source.count("\n", 0, match.start()) + 1
                raise InvalidSchema(
                    f"line {line}: brackets are nested more than {DEPTH_MAX} deep; take the inner declarations out"
                )
        elif awaited and token == awaited[-1]:
            # Brackets that do not match close nothing: protoc goes on after some of them.
            awaited.pop()
