"""Doubles and floats as Java writes them: a digit on either side of the point, an E where they are large or small."""

import math
from ctypes import c_float
from decimal import Decimal
from typing import Final

# From here up to here there is no exponent.
_PLAIN_FROM: Final = 1e-3
_PLAIN_TO: Final = 1e7


def java_double(number: float) -> str:
    """The shortest digits that are this double and no other one."""
    return _in_java(number, repr(number))


def java_float(number: float) -> str:
    """The shortest digits that are this float and no other one."""
    for digits in range(1, 10):
        text = f"{number:.{digits}g}"
        if c_float(float(text)).value == number:
            break
    return _in_java(number, text)


def _in_java(number: float, digits: str) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or _PLAIN_FROM <= abs(number) < _PLAIN_TO:
        plain = f"{Decimal(digits):f}"
        return plain if "." in plain else f"{plain}.0"
    sign, figures, _ = Decimal(digits).normalize().as_tuple()
    exponent = Decimal(digits).adjusted()
    rest = "".join(map(str, figures[1:])) or "0"
    return f"{'-' if sign else ''}{figures[0]}.{rest}E{exponent}"
