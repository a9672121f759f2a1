"""Our codec and kio's, which was made from the same definitions by other people, must agree on every byte."""

import importlib
import io
import pkgutil
import random
from typing import Any

import pytest

import ottla.protocol.messages as messages_package
from ottla.protocol.codec import decode, encode
from ottla.protocol.field_table import FIXED_FORMATS, Field, fields_in, struct_class
from ottla.protocol.schema import Message

SAMPLES_PER_VERSION = 4
INTEGER_BITS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 40}
# Kinds of numbers to which kio gives a Python type of a smaller range than the wire's.
SMALL_NUMBERS = ("_ms", "timeout", "timestamp", "time")


def wire_messages() -> list[tuple[type[Message], int, str]]:
    """(class, version, kio's module) of every message that both sides know."""
    found = []
    for module in pkgutil.iter_modules(messages_package.__path__):
        kind = next((end for end in ("request", "response") if module.name.endswith(f"_{end}")), None)
        if kind is None:
            continue
        api = module.name.removesuffix(f"_{kind}")
        contents = importlib.import_module(f"{messages_package.__name__}.{module.name}")
        cls = next(c for c in vars(contents).values() if isinstance(c, type) and len(getattr(c, "VERSIONS", ())))
        found += [(cls, version, f"kio.schema.{api}.v{version}.{kind}") for version in cls.VERSIONS]
    return found


def random_value(owner: type[Message], field: Field, kind: str, version: int, rng: random.Random) -> Any:
    if kind.startswith("[]"):
        if field.is_nullable and rng.random() < 0.2:
            return None
        return [random_value(owner, field, kind[2:], version, rng) for _ in range(rng.randrange(3))]
    if field.is_nullable and not field.is_array and kind not in FIXED_FORMATS and rng.random() < 0.3:
        return None
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "float64":
        return rng.random() * 100
    if kind == "uuid":
        return rng.randbytes(16)
    if kind in INTEGER_BITS:
        if field.name.endswith("error_code"):
            return rng.choice((-1, 0, 3, 35, 100))
        if any(word in field.name for word in SMALL_NUMBERS):
            return rng.randrange(2**20)
        return rng.getrandbits(INTEGER_BITS[kind])
    if kind == "string":
        return "".join(rng.choice("aé漢.-_") for _ in range(rng.choice((0, 1, 5, 200))))
    if kind in ("bytes", "records"):
        return rng.randbytes(rng.choice((0, 1, 130)))
    return random_message(struct_class(owner, kind), version, rng)


def random_message(cls: type[Message], version: int, rng: random.Random) -> Message:
    values = {field.name: random_value(cls, field, field.type, version, rng) for field in fields_in(cls, version)}
    for field in fields_in(cls, version):
        if field.tag >= 0 and rng.random() < 0.5:
            del values[field.name]
    return cls(**values)


def kio_reencode(module_name: str, cls_name: str, encoded: bytes) -> bytes:
    from kio.serial import entity_reader, entity_writer

    kio_class = getattr(importlib.import_module(module_name), cls_name)
    entity, size = entity_reader(kio_class)(encoded, 0)
    assert size == len(encoded)
    out = io.BytesIO()
    entity_writer(kio_class)(out, entity)
    return out.getvalue()


@pytest.mark.parametrize("share", range(8))
def test_both_codecs_write_and_read_the_same_bytes(share: int) -> None:
    compared = 0
    for cls, version, kio_module in wire_messages()[share::8]:
        rng = random.Random(f"{cls.__name__} {version}")
        for sample in range(SAMPLES_PER_VERSION):
            message = cls() if sample == 0 else random_message(cls, version, rng)
            encoded = encode(message, version)
            assert encode(decode(cls, encoded, version), version) == encoded
            try:
                theirs = kio_reencode(kio_module, cls.__name__, encoded)
            except ModuleNotFoundError:
                assert cls.LATEST_VERSION_UNSTABLE, f"{kio_module} is not in kio"
                continue
            assert theirs == encoded, f"{cls.__name__} v{version}: {message}"
            compared += 1
    assert compared > 100
