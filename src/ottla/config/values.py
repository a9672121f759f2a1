"""Typed configuration values and their text, by the rules of Java.

A value travels as text everywhere (files, `--override`, AlterConfigs, ConfigRecord, DescribeConfigs) and is typed only
inside. Both directions follow Java's parsers, so that what Kafka accepts is accepted, what it refuses is refused, and a
described value reads as Kafka would print it.
"""

import math
import re
import sys
from enum import IntEnum
from typing import Final

from ottla.config.units import unit_hint


class ConfigType(IntEnum):
    """Type of a configuration key; the numbers are the ones of DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigError(ValueError):
    """The operator or a client gave a value that cannot be used; the text names key, value and remedy."""


class Password:
    """A secret whose text only `.value` gives away: neither logs nor errors nor reprs can leak it."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "[hidden]"


ConfigValue = bool | int | float | str | tuple[str, ...] | Password | None

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
DOUBLE_MAX: Final = sys.float_info.max

_INTEGER_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DOUBLE: Final = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[fFdD]?")
_LIST_SEPARATOR: Final = re.compile(r"\s*,\s*")


def invalid(name: str, value: object, reason: str) -> ConfigError:
    """The error for one wrong value, in the words that Kafka's tools and users know."""
    return ConfigError(f"Invalid value {value} for configuration {name}: {reason}")


def parse_value(name: str, text: str, config_type: ConfigType) -> ConfigValue:
    """The typed value of a text, or ConfigError."""
    trimmed = text.strip()
    if config_type is ConfigType.STRING or config_type is ConfigType.CLASS:
        return trimmed
    if config_type is ConfigType.LIST:
        return tuple(_LIST_SEPARATOR.split(trimmed)) if trimmed else ()
    if config_type is ConfigType.BOOLEAN:
        lowered = trimmed.lower()
        if lowered not in ("true", "false"):
            raise invalid(name, text, "Expected value to be either true or false")
        return lowered == "true"
    if config_type is ConfigType.PASSWORD:
        return Password(trimmed)
    if config_type is ConfigType.DOUBLE:
        if not _DOUBLE.fullmatch(trimmed):
            raise invalid(name, text, f"Not a number of type DOUBLE{unit_hint(name, text)}")
        return float(trimmed.rstrip("fFdD"))
    return _parse_integer(name, text, trimmed, config_type)


def _parse_integer(name: str, text: str, trimmed: str, config_type: ConfigType) -> int:
    bits = _INTEGER_BITS[config_type]
    # Twenty characters hold every 64-bit number: longer text is refused before it is converted.
    if _INTEGER.fullmatch(trimmed) and len(trimmed.lstrip("+-0")) <= 20:
        number = int(trimmed)
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            return number
    raise invalid(name, text, f"Not a number of type {config_type.name}{unit_hint(name, text)}")


def format_value(value: ConfigValue) -> str | None:
    """The text of a typed value as Kafka prints it; a password comes out hidden."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_double(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def format_double(value: float) -> str:
    """A double in the notation of Java's Double.toString."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else f"{value:f}"
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    if exponent:
        power = int(exponent)
        digits = fraction.rstrip("0") or "0"
        return f"{sign}{whole}.{digits}E{power}"
    if whole != "0":
        digits = (whole[1:] + fraction).rstrip("0") or "0"
        return f"{sign}{whole[0]}.{digits}E{len(whole) - 1}"
    leading = len(fraction) - len(fraction.lstrip("0"))
    significant = fraction.lstrip("0")
    return f"{sign}{significant[0]}.{significant[1:].rstrip('0') or '0'}E-{leading + 1}"
