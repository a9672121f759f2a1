"""A format string taken apart: literal bytes, and directives such as `%k` or `%v{hex}` with their braces.

Backslashes write `\\n \\r \\t \\\\ \\0` and `\\xNN`; `%%`, `%{` and `%}` stand for the second character.
"""

from dataclasses import dataclass
from typing import Final

_ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "0": b"\0"}
_HEX_DIGITS: Final = 2


@dataclass(frozen=True, slots=True)
class Directive:
    """`%letter`, or `%letter{modifier}`."""

    letter: str
    modifier: str | None = None

    def __str__(self) -> str:
        return f"%{self.letter}" + ("" if self.modifier is None else f"{{{self.modifier}}}")


Token = bytes | Directive


def tokens_of(text: str) -> list[Token]:
    """The tokens of a format; neighbouring literals are one. ValueError says where it is wrong."""
    found: list[Token] = []
    literal = bytearray()
    at = 0
    while at < len(text):
        if text[at] == "%":
            token, at = _after_percent(text, at + 1)
            if isinstance(token, bytes):
                literal += token
                continue
            if literal:
                found.append(bytes(literal))
                literal.clear()
            found.append(token)
        else:
            part, at = unescaped_at(text, at)
            literal += part
    if literal:
        found.append(bytes(literal))
    return found


def unescaped(text: str) -> bytes:
    """The text with its backslashes resolved."""
    parts = []
    at = 0
    while at < len(text):
        part, at = unescaped_at(text, at)
        parts.append(part)
    return b"".join(parts)


def unescaped_at(text: str, at: int) -> tuple[bytes, int]:
    """The bytes of the character at a position, and where the next one is."""
    if text[at] != "\\" or at + 1 == len(text):
        return text[at].encode(errors="surrogateescape"), at + 1
    letter = text[at + 1]
    if letter == "x":
        digits = text[at + 2 : at + 2 + _HEX_DIGITS]
        try:
            return bytes.fromhex(digits), at + 2 + len(digits)
        except ValueError:
            raise ValueError(f"\\x{digits} in {text!r}: two hexadecimal digits follow \\x") from None
    if letter not in _ESCAPES:
        raise ValueError(f"\\{letter} in {text!r}: there are \\n, \\r, \\t, \\0, \\\\ and \\xNN")
    return _ESCAPES[letter], at + 2


def _after_percent(text: str, at: int) -> tuple[Token, int]:
    if at == len(text):
        raise ValueError(f"{text!r} ends in the middle of a directive: write %% for a percent sign")
    letter = text[at]
    if letter in "%{}":
        return letter.encode(), at + 1
    at += 1
    if not text.startswith("{", at):
        return Directive(letter), at
    end = _closing_brace(text, at)
    return Directive(letter, text[at + 1 : end]), end + 1


def _closing_brace(text: str, opening: int) -> int:
    depth = 0
    at = opening
    while at < len(text):
        if text[at] == "%" and text[at + 1 : at + 2] in ("{", "}", "%"):
            at += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
        at += 1
    raise ValueError(f"the brace at {text[opening:]!r} is never closed")
