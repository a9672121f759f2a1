"""Quoted literals of .proto source: bytes, written as text with escapes.

Confluent's registry writes characters as they are and escapes quotes and the common controls. What it would write in a
way that reads back as something else (other controls, bytes that are no UTF-8) is written in octal here.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|[xX](?P<hex>[0-9a-fA-F]{1,2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<plain>.))",
    re.DOTALL,
)
_PLAIN: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_WRITTEN: Final = {code: f"\\{letter}" for letter, code in _PLAIN.items()} | {ord(one): f"\\{one}" for one in "\\'\""}
_DELETE: Final = 127


def read_literal(token: str) -> bytes:
    """The bytes between the quotes."""
    body = token[1:-1]
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts += (body[position : match.start()].encode(), _escaped(match))
        position = match.end()
    return b"".join((*parts, body[position:].encode()))


def write_literal(data: bytes) -> str:
    """A literal with its quotes, in one line."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return '"' + "".join(_written(chr(byte)) if byte < 128 else f"\\{byte:03o}" for byte in data) + '"'
    return '"' + "".join(map(_written, text)) + '"'


def _escaped(match: re.Match[str]) -> bytes:
    groups = match.groupdict()
    if groups["octal"] is not None:
        return bytes((int(groups["octal"], 8) & 255,))
    if groups["hex"] is not None:
        return bytes((int(groups["hex"], 16),))
    code = groups["short"] or groups["long"]
    if code is not None:
        return chr(int(code, 16)).encode("utf-8", "surrogatepass")
    plain = groups["plain"]
    return bytes((_PLAIN[plain],)) if plain in _PLAIN else plain.encode()


def _written(character: str) -> str:
    code = ord(character)
    if code in _WRITTEN:
        return _WRITTEN[code]
    return f"\\{code:03o}" if code < 32 or code == _DELETE else character
