"""What stands in the braces of a directive: how numbers, texts and times are written."""

import base64
import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

NumberFormat = Callable[[int], bytes]
TextFormat = Callable[[bytes], bytes]

_NUMBER: Final = re.compile(r"(hex|big|little)(64|32|16|8|4)")
_WRAPPED: Final = re.compile(r"(?s)(\w+)(\[+|\{+|#+)(.*)")
_CLOSING: Final = {"[": "]", "{": "}", "#": "#"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# strftime has no milliseconds: they take the place of a character that no layout has.
_MILLISECONDS: Final = "\x01"

# The moment by which Go writes layouts, Monday January 2 15:04:05 2006 -0700, part by part.
_GO_LAYOUT: Final = {
    "2006": "%Y",
    "January": "%B",
    "Jan": "%b",
    "Monday": "%A",
    "Mon": "%a",
    "MST": "UTC",
    "Z07:00": "Z",
    "-07:00": "+00:00",
    "-0700": "+0000",
    ".000000": ".%f",
    ".000": f".{_MILLISECONDS}",
    "01": "%m",
    "02": "%d",
    "15": "%H",
    "03": "%I",
    "04": "%M",
    "05": "%S",
    "06": "%y",
    "PM": "%p",
}
_GO_TOKEN: Final = re.compile("|".join(map(re.escape, sorted(_GO_LAYOUT, key=len, reverse=True))))

_UNPACKED: Final = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}


def ascii_number(number: int) -> bytes:
    return b"%d" % number


def number_format(modifier: str | None) -> NumberFormat:
    """How `%p{modifier}` writes a number."""
    if modifier in (None, "", "ascii"):
        return ascii_number
    if modifier == "bool":
        return lambda number: b"true" if number else b"false"
    found = _NUMBER.fullmatch("big8" if modifier == "byte" else modifier or "")
    if found is None or (found[1] != "hex" and found[2] == "4"):
        raise ValueError(f"{modifier!r} is no way to write a number: there are ascii, hex32, big32, little32, byte")
    bits = int(found[2])
    mask = (1 << bits) - 1
    if found[1] == "hex":
        return lambda number: b"%0*x" % (bits // 4, number & mask)
    order = ">" if found[1] == "big" else "<"
    pack = struct.Struct(order + {64: "Q", 32: "I", 16: "H", 8: "B"}[bits]).pack
    return lambda number: pack(number & mask)


def text_format(modifier: str | None) -> TextFormat:
    """How `%v{modifier}` writes bytes."""
    if modifier in (None, ""):
        return bytes
    if modifier == "hex":
        return lambda data: data.hex().encode()
    if modifier == "base64":
        return base64.b64encode
    if modifier == "base64raw":
        return lambda data: base64.b64encode(data).rstrip(b"=")
    word, inner = _wrapped(modifier or "")
    if word == "unpack":
        return unpacker(inner)
    raise ValueError(f"{modifier!r} is no way to write text: there are hex, base64, base64raw and unpack[...]")


def time_format(modifier: str | None) -> NumberFormat:
    """How `%d{modifier}` writes a time in ms: as a number, or by a layout of strftime's or Go's."""
    word, inner = _wrapped(modifier or "")
    if word not in ("strftime", "go"):
        return number_format(modifier)
    layout = inner if word == "strftime" else _GO_TOKEN.sub(lambda found: _GO_LAYOUT[found[0]], inner)

    def write(timestamp_ms: int) -> bytes:
        try:
            moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
        except OverflowError:
            return ascii_number(timestamp_ms)
        return moment.strftime(layout).replace(_MILLISECONDS, f"{moment.microsecond // 1000:03d}").encode()

    return write


def unpacker(specification: str) -> TextFormat:
    """Numbers out of bytes, by rpk's and kcat's letters; what does not fit is said in the output."""
    steps: list[tuple[str, str]] = []
    order = ">"
    for letter in specification:
        if letter in "<>":
            order = letter
        elif letter in "bBhHiIqQcsx.$ ":
            steps.append((letter, order))
        else:
            raise ValueError(f"{letter!r} cannot be unpacked: there are < > b B h H i I q Q c . s $ x")

    def write(data: bytes) -> bytes:
        parts = []
        at = 0
        for letter, byte_order in steps:
            if letter in "x ":
                parts.append(b" ")
            elif letter == "$":
                if at != len(data):
                    parts.append(b"unpack: %d bytes remain" % (len(data) - at))
            elif letter == "s":
                parts.append(data[at:])
                at = len(data)
            else:
                size = _UNPACKED.get(letter, 1)
                if at + size > len(data):
                    parts.append(b"unpack: too few bytes")
                    break
                taken = data[at : at + size]
                parts.append(taken if letter in "c." else b"%d" % struct.unpack(byte_order + letter, taken)[0])
                at += size
        return b"".join(parts)

    return write


def _wrapped(modifier: str) -> tuple[str, str]:
    """`word[[inner]]` with as many brackets, braces or hashes on either side."""
    found = _WRAPPED.fullmatch(modifier)
    if found is not None:
        closing = _CLOSING[found[2][0]] * len(found[2])
        if found[3].endswith(closing):
            return found[1], found[3].removesuffix(closing)
    return modifier, ""
