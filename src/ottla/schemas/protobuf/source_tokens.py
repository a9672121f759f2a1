"""The words of .proto source, and what of it is too much.

protoc reads aggregates of options by recursion without a bound, on the stack of this process: a text with brackets
deeper than anybody writes by hand is refused before protoc sees it. And the generator behind `get_protos` looks for
each message in the bytes of all of its file: its time grows with their product, to minutes for a text of 1 MB that is
made for that. What is no token of the language is a token of one character here: protoc will name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ottla.schemas.errors import InvalidSchema

DEPTH_MAX: Final = 64
# Blocks times characters: 1,000 messages in 1 MB, or 5,000 in 200 kB. protoc takes half a second for such a text, and
# 3.3 s for the slowest that was found (a long literal of line feeds before many empty messages).
WORK_MAX: Final = 10**9
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


def check_bounds(source: str) -> None:
    """InvalidSchema if brackets are nested more than DEPTH_MAX deep, or if there are too many for protoc."""
    awaited: list[str] = []
    blocks = 0
    for match in _TOKEN.finditer(source):
        token = match.group()
        if token in _CLOSING:
            awaited.append(_CLOSING[token])
            blocks += token == "{"
            if len(awaited) > DEPTH_MAX:
                line = source.count("\n", 0, match.start()) + 1
                raise InvalidSchema(
                    f"line {line}: brackets are nested more than {DEPTH_MAX} deep; take the inner declarations out"
                )
        elif awaited and token == awaited[-1]:
            # Brackets that do not match close nothing: protoc goes on after some of them.
            awaited.pop()
    if blocks * len(source) > WORK_MAX:
        raise InvalidSchema(
            f"{blocks} messages and other blocks in {len(source)} characters are too many for one file; "
            f"split it into files that import each other"
        )
