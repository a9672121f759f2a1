"""Which logical types are valid where; others are attributes without a meaning."""

from __future__ import annotations

import math
from typing import Final, TypeGuard

from ottla.schemas.avro.model import Fixed, Primitive

_BASES: Final = {
    "big-decimal": "bytes",
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "local-timestamp-nanos": "long",
}
# Attributes of Java's code generation that rule out a logical type.
_FOREIGN: Final = ("avro.java.string", "java-class", "java-key-class", "java-element-class")
_UUID_BYTES: Final = 16


def logical_type_of(one: Primitive | Fixed) -> str | None:
    name = one.props.get("logicalType")
    if not isinstance(name, str) or any(isinstance(one.props.get(key), str) for key in _FOREIGN):
        return None
    match name:
        case "uuid":
            is_valid = one.size == _UUID_BYTES if isinstance(one, Fixed) else one.kind == "string"
        case "decimal":
            is_valid = _is_decimal(one)
        case _:
            is_valid = _BASES.get(name) == one.kind
    return name if is_valid else None


def _is_decimal(one: Primitive | Fixed) -> bool:
    precision, scale = one.props.get("precision"), one.props.get("scale", 0)
    if not _is_whole(precision) or not _is_whole(scale):
        return False
    if isinstance(one, Fixed):
        digits_max = math.floor(math.log10(2) * (8 * one.size - 1))
    elif one.kind == "bytes":
        digits_max = 2**31 - 1
    else:
        return False
    return 0 < precision <= digits_max and 0 <= scale <= precision


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
