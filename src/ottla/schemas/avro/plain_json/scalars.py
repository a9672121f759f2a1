"""Values that are not made of other values: how each is shown as JSON, and read from it.

Between the two stands the plain value, without its logical type: an int, a float, a str, bytes.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import UUID

from ottla.schemas.avro.json_text import Json, shorten
from ottla.schemas.avro.logical_types import logical_type_of
from ottla.schemas.avro.model import Enum, Fixed, Primitive
from ottla.schemas.avro.plain_json import moments

# The digits behind the second, and whether the type knows no zone.
_MOMENTS: Final = {
    f"{prefix}timestamp-{unit}": (digits, bool(prefix))
    for prefix in ("", "local-")
    for unit, digits in (("millis", 3), ("micros", 6), ("nanos", 9))
}
_TIMES: Final = {"time-millis": 3, "time-micros": 6}
_BITS: Final = {"int": 31, "long": 63}
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# A decimal with more is shown as bytes: its digits would take long to write, and nobody reads them.
_DECIMAL_DIGITS_MAX: Final = 1000
_DECIMAL_BYTES_MAX: Final = 416
_DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_RAW: Final = "bytes"


class Misfit(Exception):
    """A JSON value is not what the type wants; `path` leads to it, the innermost step first."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str] = []


def is_not(value: Json, wanted: str) -> Misfit:
    return Misfit(f"{shorten(value)} is not {wanted}")


@dataclass(frozen=True, slots=True)
class Scalar:
    """`show` takes a plain value; `read` gives one, and raises Misfit."""

    show: Callable[[Any], Json]
    read: Callable[[Json], Any]
    # How well a JSON value means this type, see `branches`.
    weigh: Callable[[Json], int]


NO, PERHAPS, YES = 0, 1, 2


def scalar_of(one: Primitive | Fixed | Enum) -> Scalar:
    if isinstance(one, Enum):
        return _enum(one)
    logical = logical_type_of(one)
    if logical == "decimal":
        return _decimal(one)
    if isinstance(one, Fixed):
        return _uuid() if logical == "uuid" else _bytes(one.size)
    if logical is not None and (logical == "date" or logical in _TIMES or logical in _MOMENTS):
        return _moment(one.kind, logical)
    match one.kind:
        case "null":
            return _exact("null", lambda value: value is None)
        case "boolean":
            return _exact("true or false", lambda value: isinstance(value, bool))
        case "string":
            return _exact("a text", lambda value: isinstance(value, str))
        case "bytes":
            return _bytes(None)
        case "int" | "long":
            return _exact(_whole_numbers(one.kind), partial(_is_whole, bits=_BITS[one.kind]))
        case _:
            return _floating(one.kind)


def _exact(wanted: str, fits: Callable[[Json], bool]) -> Scalar:
    def read(value: Json) -> Json:
        if not fits(value):
            raise is_not(value, wanted)
        return value

    return Scalar(lambda plain: plain, read, lambda value: YES if fits(value) else NO)


def _whole_numbers(kind: str) -> str:
    return f"{'an int' if kind == 'int' else 'a long'}, a whole number of {_BITS[kind] + 1} bits"


def _is_whole(value: Json, bits: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits) <= value < 1 << bits


def _enum(one: Enum) -> Scalar:
    wanted = f"a symbol of {one.name.full}: {', '.join(one.symbols)}"
    return _exact(wanted, lambda value: isinstance(value, str) and value in one.symbols)


def _floating(kind: str) -> Scalar:
    form = "<f" if kind == "float" else "<d"

    def show(plain: float) -> Json:
        if math.isfinite(plain):
            return plain
        return "NaN" if math.isnan(plain) else "Infinity" if plain > 0 else "-Infinity"

    def read(value: Json) -> float:
        try:
            if isinstance(value, str):
                return _NOT_FINITE[value]
            if isinstance(value, int | float) and not isinstance(value, bool):
                struct.pack(form, value)
                return float(value)
        except (KeyError, OverflowError, struct.error):
            pass
        raise is_not(value, f"a {kind}: a number, NaN, Infinity or -Infinity")

    def weigh(value: Json) -> int:
        return _weigh_by(read, YES if isinstance(value, float) else PERHAPS, value)

    return Scalar(show, read, weigh)


def _bytes(size: int | None) -> Scalar:
    """Of a certain size, or of any."""
    of_size = "" if size is None else f" {size}"
    wanted = f"a text of{of_size} characters up to U+00FF, one for each byte"

    def read(value: Json) -> bytes:
        if isinstance(value, str) and (size is None or len(value) == size):
            try:
                return value.encode("latin-1")
            except UnicodeEncodeError:
                pass
        raise is_not(value, wanted)

    return Scalar(lambda plain: plain.decode("latin-1"), read, partial(_weigh_by, read, PERHAPS))


def _weigh_by(read: Callable[[Json], object], weight: int, value: Json) -> int:
    try:
        read(value)
    except Misfit:
        return NO
    return weight


def _uuid() -> Scalar:
    def read(value: Json) -> bytes:
        try:
            if isinstance(value, str):
                return UUID(value).bytes
        except ValueError:
            pass
        raise is_not(value, "a UUID, as in f81d4fae-7dec-11d0-a765-00a0c91e6bf6")

    return Scalar(lambda plain: str(UUID(bytes=plain)), read, partial(_weigh_by, read, YES))


# -- days and times ---------------------------------------------------------------------------------------------------


def _moment(kind: str, logical: str) -> Scalar:
    show, parse, example = _moment_words(logical)
    bits = _BITS[kind]

    def read(value: Json) -> int:
        plain = value
        if isinstance(value, str):
            try:
                plain = parse(value)
            except ValueError:
                plain = None
        if not _is_whole(plain, bits):
            raise is_not(value, f"a {logical}, as in {example}")
        assert isinstance(plain, int)
        return plain

    def weigh(value: Json) -> int:
        return _weigh_by(read, YES if isinstance(value, str) else PERHAPS, value)

    return Scalar(show, read, weigh)


def _moment_words(logical: str) -> tuple[Callable[[int], Json], Callable[[str], int], str]:
    if logical == "date":
        return moments.show_day, moments.read_day, "2024-06-10"
    if logical in _TIMES:
        digits = _TIMES[logical]
        show, read = partial(moments.show_time, digits=digits), partial(moments.read_time, digits=digits)
        return show, read, str(moments.show_time(0, digits))
    digits, is_local = _MOMENTS[logical]
    return (
        partial(moments.show_moment, digits=digits, is_local=is_local),
        partial(moments.read_moment, digits=digits, is_local=is_local),
        str(moments.show_moment(0, digits, is_local=is_local)),
    )


# -- decimals ---------------------------------------------------------------------------------------------------------


def _decimal(one: Primitive | Fixed) -> Scalar:
    size = one.size if isinstance(one, Fixed) else None
    precision, scale = one.props["precision"], one.props.get("scale", 0)
    assert isinstance(precision, int) and isinstance(scale, int)
    if scale > _DECIMAL_DIGITS_MAX:
        return _bytes(size)
    raw = _bytes(size)
    digits_max = min(precision, _DECIMAL_DIGITS_MAX)

    def show(plain: bytes) -> Json:
        if len(plain) <= _DECIMAL_BYTES_MAX or size is not None:
            unscaled = int.from_bytes(plain, signed=True)
            if abs(unscaled) < 10**digits_max and plain == _to_bytes(unscaled, size):
                return _with_point(unscaled, scale)
        return {_RAW: plain.decode("latin-1")}

    def read(value: Json) -> bytes:
        if isinstance(value, dict) and value.keys() == {_RAW}:
            plain: bytes = raw.read(value[_RAW])
            return plain
        unscaled = _unscaled(value, scale)
        if unscaled is None or abs(unscaled) >= 10**digits_max:
            raise is_not(value, f"a decimal of at most {precision} digits, {scale} of them behind the point")
        try:
            return _to_bytes(unscaled, size)
        except OverflowError:
            raise is_not(value, f"a decimal that fits into {size} bytes") from None

    def weigh(value: Json) -> int:
        return _weigh_by(read, YES if isinstance(value, str | dict) else PERHAPS, value)

    return Scalar(show, read, weigh)


def _to_bytes(unscaled: int, size: int | None) -> bytes:
    """As few as are needed, which is what Java writes."""
    needed = (unscaled if unscaled >= 0 else unscaled + 1).bit_length() // 8 + 1
    return unscaled.to_bytes(needed if size is None else size, signed=True)


def _with_point(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return f"{'-' if unscaled < 0 else ''}{whole}{'.' if scale else ''}{fraction}"


def _unscaled(value: Json, scale: int) -> int | None:
    """The digits of a decimal; None if it is none, or has more behind the point than are kept."""
    if isinstance(value, float) and math.isfinite(value):
        value = f"{Decimal(repr(value)):f}"
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_DECIMAL_DIGITS_MAX:
        value = str(value)
    found = _DECIMAL.fullmatch(value) if isinstance(value, str) and len(value) <= 3 * _DECIMAL_DIGITS_MAX else None
    if found is None:
        return None
    fraction = (found[3] or "").rstrip("0")
    if len(fraction) > scale:
        return None
    return int(found[1] + found[2] + fraction.ljust(scale, "0"))
