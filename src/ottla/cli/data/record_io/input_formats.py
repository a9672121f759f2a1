"""Records out of a stream by a format string: rpk's way to read them, the counterpart of `format_strings.py`.

    %k %v                    key and value: up to the text that follows in the format, or as long as was said before
    %K %V                    their length, before them
    %H %h{...}               how many headers, and the format of each, of %k %v %K %V
    %p %d                    partition, timestamp in ms
    %t %o %e                 read over

Numbers are digits, or bytes with {big32} and the like; texts may be {hex} or {base64}.
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ottla.cli.data.record_io.format_tokens import Directive, Token, tokens_of
from ottla.cli.data.record_io.json_records import InputRecord

_TEXTS: Final = "kvst"
_SIZES: Final = {"K": "k", "V": "v", "S": "v", "T": "t"}
_NUMBERS: Final = "pdoeH"
_DECODERS: Final[dict[str | None, Callable[[bytes], bytes]]] = {
    None: bytes,
    "hex": lambda text: bytes.fromhex(text.decode()),
    "base64": lambda text: base64.b64decode(text, validate=True),
    "base64raw": lambda text: base64.b64decode(text + b"=" * (-len(text) % 4), validate=True),
}


class Incomplete(Exception):
    """The input ends in the middle of a record."""


@dataclass(slots=True)
class _Fields:
    """What was read of one record."""

    texts: dict[str, bytes] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    headers: list[tuple[str, bytes | None]] = field(default_factory=list)


class InputFormat:
    """Reads one record after the other; ValueError if the format cannot be read back."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        if not any(isinstance(token, Directive) and token.letter in "kvs" for token in self._tokens):
            raise ValueError(f"format {text!r} has neither %k nor %v: there would be nothing to produce")
        _check(text, self._tokens)

    def read(self, data: bytes, at: int) -> tuple[InputRecord, int]:
        """The record at a position, and where the next one is; Incomplete if there is more to come."""
        fields = _Fields()
        at = _read(self._tokens, data, at, fields)
        timestamp_ms = fields.numbers.get("d")
        value = fields.texts.get("v", fields.texts.get("s"))
        record = InputRecord(value, fields.texts.get("k"), tuple(fields.headers), fields.numbers.get("p"), timestamp_ms)
        return record, at


def _check(text: str, tokens: list[Token]) -> None:
    sized: set[str] = set()
    for index, token in enumerate(tokens):
        if isinstance(token, bytes):
            continue
        letter = token.letter
        if letter in _SIZES:
            sized.add(_SIZES[letter])
        elif letter == "h":
            if token.modifier is None or "H" not in sized:
                raise ValueError(f"format {text!r}: %h{{...}} needs %H before it, to know how many headers there are")
            _check(token.modifier, tokens_of(token.modifier))
        elif letter in _TEXTS:
            is_last = index + 1 == len(tokens)
            if letter not in sized and (is_last or not isinstance(tokens[index + 1], bytes)):
                raise ValueError(
                    f"format {text!r}: nothing says where {token} ends; put a text after it, or its length"
                )
            if token.modifier not in _DECODERS:
                raise ValueError(
                    f"format {text!r}: {token} cannot be read; there are {{hex}}, {{base64}}, {{base64raw}}"
                )
        elif letter not in _NUMBERS:
            raise ValueError(f"format {text!r}: {token} cannot be read")
        if letter == "H":
            sized.add("H")
        if letter in _SIZES or letter in _NUMBERS:
            _number_bytes(token, tokens, index)


def _read(tokens: list[Token], data: bytes, at: int, fields: _Fields) -> int:
    for index, token in enumerate(tokens):
        if isinstance(token, bytes):
            if not data.startswith(token, at):
                if token.startswith(data[at:]):
                    raise Incomplete
                raise ValueError(f"{data[at : at + 20]!r} is where the format has {token!r}")
            at += len(token)
        elif token.letter in _TEXTS:
            end = _text_end(token, tokens, index, data, at, fields)
            fields.texts[token.letter] = _decoded(token, data[at:end])
            at = end
        elif token.letter == "h":
            at = _read_headers(token, data, at, fields)
        else:
            number, at = _read_number(token, tokens, index, data, at)
            if token.letter in _SIZES:
                fields.sizes[_SIZES[token.letter]] = number
            else:
                fields.numbers[token.letter] = number
    return at


def _read_headers(token: Directive, data: bytes, at: int, fields: _Fields) -> int:
    inner = tokens_of(token.modifier or "")
    for _ in range(fields.numbers.get("H", 0)):
        header = _Fields()
        at = _read(inner, data, at, header)
        fields.headers.append((header.texts.get("k", b"").decode(), header.texts.get("v")))
    return at


def _text_end(token: Directive, tokens: list[Token], index: int, data: bytes, at: int, fields: _Fields) -> int:
    size = fields.sizes.get("v" if token.letter == "s" else token.letter)
    if size is not None:
        if size < 0 or at + size > len(data):
            raise Incomplete
        return at + size
    following = tokens[index + 1]
    assert isinstance(following, bytes)
    end = data.find(following, at)
    if end < 0:
        raise Incomplete
    return end


def _decoded(token: Directive, text: bytes) -> bytes:
    try:
        return _DECODERS[token.modifier](text)
    except (ValueError, binascii.Error):
        raise ValueError(f"{text[:40]!r} is not {token.modifier}, as the format's {token} says") from None


def _number_bytes(token: Directive, tokens: list[Token], index: int) -> tuple[int, str]:
    """How many bytes a number takes and in which order; 0 for digits."""
    modifier = token.modifier or "ascii"
    if modifier == "ascii":
        following = tokens[index + 1] if index + 1 < len(tokens) else b"\n"
        if not isinstance(following, bytes) or following[:1].isdigit():
            raise ValueError(f"nothing says where {token} ends: put a text after it, or give it a size as in {{big32}}")
        return 0, "big"
    sizes = {f"{order}{bits}": (bits // 8, order) for order in ("big", "little") for bits in (8, 16, 32, 64)}
    sizes["byte"] = (1, "big")
    if modifier not in sizes:
        raise ValueError(f"{token} cannot be read: there are {{ascii}}, {{byte}}, {{big32}}, {{little32}}")
    return sizes[modifier]


def _read_number(token: Directive, tokens: list[Token], index: int, data: bytes, at: int) -> tuple[int, int]:
    size, order = _number_bytes(token, tokens, index)
    if size:
        if at + size > len(data):
            raise Incomplete
        return int.from_bytes(data[at : at + size], "big" if order == "big" else "little"), at + size
    end = at + 1 if data[at : at + 1] == b"-" else at
    while end < len(data) and data[end : end + 1].isdigit():
        end += 1
    if end == len(data):
        raise Incomplete
    if not data[at:end].lstrip(b"-"):
        raise ValueError(f"{data[at : at + 20]!r} is where the format has the number {token}")
    return int(data[at:end]), end
