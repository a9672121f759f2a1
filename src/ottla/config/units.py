"""The unit of a setting. Kafka's names end in it and values are bare numbers; a value with a unit gets a hint."""

import re
from fractions import Fraction
from typing import Final

_TIMES_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SIZES_BYTES: Final = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# The end of a name, its unit in words, the units that a text may have, and the size of the name's unit in the smallest.
_UNITS: Final = (
    (".ms", "milliseconds", _TIMES_MS, 1),
    (".seconds", "seconds", _TIMES_MS, 1000),
    (".minutes", "minutes", _TIMES_MS, 60_000),
    (".hours", "hours", _TIMES_MS, 3_600_000),
    (".bytes.per.second", "bytes a second", _SIZES_BYTES, 1),
    (".bytes", "bytes", _SIZES_BYTES, 1),
    (".buffer.size", "bytes", _SIZES_BYTES, 1),
)
# The numbers are short: a longer one is not a slip, and converting it costs time.
_WITH_UNIT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([a-zA-Z]{1,3})")


def unit_hint(name: str, text: str) -> str:
    """What to write instead of a text that is not a number: a sentence, or nothing if the name has no unit."""
    for suffix, words, units, divisor in _UNITS:
        if name.endswith(suffix):
            number = _converted(text.strip(), units, divisor)
            remedy = "write the number alone" if number is None else f"write {number} for {text.strip()}"
            return f". It is in {words}: {remedy}."
    return ""


def _converted(text: str, units: dict[str, int], divisor: int) -> int | None:
    parts = _WITH_UNIT.fullmatch(text)
    if parts is None:
        return None
    unit = parts[2].lower()
    if units is _SIZES_BYTES:
        # MB and MiB mean the same here: Kafka's own defaults are powers of two.
        unit = unit.removesuffix("ib") if len(unit) > 2 else unit[0] if unit[1:] in ("", "b") else unit
    if unit not in units:
        return None
    number = Fraction(parts[1]) * units[unit] / divisor
    return int(number) if number.denominator == 1 else None
