"""Messages of any kind and version with something in every field: seeds for fuzzing."""

import random
from typing import Any

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.field_table import Field, fields_in, struct_class
from ottla.protocol.schema import Message

_INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}


def sample(cls: type[Message], version: int, chance: random.Random) -> Any:
    """A message that its encoder takes."""
    return _struct(cls, cls, version, chance)


def _struct(message: type[Message], struct: type[Message], version: int, chance: random.Random) -> Any:
    made = struct()
    for field in fields_in(struct, version):
        setattr(made, field.name, _value(message, field, version, chance))
    return made


def _value(message: type[Message], field: Field, version: int, chance: random.Random) -> Any:
    if field.is_nullable and chance.random() < 0.1:
        return None
    if field.is_array:
        return [_element(message, field.element_type, version, chance) for _ in range(chance.randrange(3))]
    return _element(message, field.type, version, chance)


def _element(message: type[Message], kind: str, version: int, chance: random.Random) -> Any:
    if kind in _INTEGER_BITS:
        lowest = 0 if kind.startswith("u") else -1
        return chance.choice((lowest, 0, 1, 2, 2 ** (_INTEGER_BITS[kind] - 1) - 1))
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "float64":
        return 0.5
    if kind == "uuid":
        return chance.randbytes(16)
    if kind == "string":
        return chance.choice(("", "fuzzed", "fuzzed-é"))
    if kind == "bytes":
        return chance.randbytes(chance.randrange(20))
    if kind == "records":
        builder = BatchBuilder()
        builder.append(b"k", b"v", timestamp_ms=1_700_000_000_000)
        return bytes(builder.build())
    return _struct(message, struct_class(message, kind), version, chance)
