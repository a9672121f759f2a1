"""Bytes as the deserializers that come with Kafka's Java client read them, and Java prints them.

By the class name, with or without its package: String, Integer, Long, Short, Float, Double, Boolean, UUID, Bytes,
ByteBuffer, Void. Of a ByteArray Java prints no more than an address; here its bytes are written as they are.
"""

import struct
from collections.abc import Callable
from typing import Final

from ottla.cli.kafka.frame.java_numbers import java_double, java_float

_PACKAGE: Final = "org.apache.kafka.common.serialization."
Deserializer = Callable[[bytes], bytes]

_PRINTABLE: Final = range(0x20, 0x7F)


class SerializationError(ValueError):
    """The bytes are not what the deserializer expects; the message is Apache's."""


def deserializer_named(name: str) -> Deserializer | None:
    """The deserializer of a Java class; None for one that is not there."""
    return _DESERIALIZERS.get(name.removeprefix(_PACKAGE).removesuffix("Deserializer"))


def _text(data: bytes) -> bytes:
    return data.decode(errors="replace").encode()


def _number(name: str, layout: str, size: int, written: Callable[[float], str] = str) -> Deserializer:
    def read(data: bytes) -> bytes:
        if len(data) != size:
            raise SerializationError(f"Size of data received by {name}Deserializer is not {size}")
        return written(struct.unpack(layout, data)[0]).encode()

    return read


def _boolean(data: bytes) -> bytes:
    if len(data) != 1:
        raise SerializationError("Size of data received by BooleanDeserializer is not 1")
    if data[0] > 1:
        raise SerializationError(f"Unexpected byte received by BooleanDeserializer: {data[0]}")
    return b"true" if data[0] else b"false"


def _uuid(data: bytes) -> bytes:
    from uuid import UUID

    text = data.decode(errors="replace")
    try:
        return str(UUID(text)).encode()
    except ValueError:
        raise SerializationError("Error parsing data into UUID") from None


def _escaped(data: bytes) -> bytes:
    return b"".join(b"%c" % byte if byte in _PRINTABLE and byte != 0x5C else b"\\x%02X" % byte for byte in data)


def _buffer(data: bytes) -> bytes:
    return b"java.nio.HeapByteBuffer[pos=0 lim=%d cap=%d]" % (len(data), len(data))


def _nothing(_: bytes) -> bytes:
    raise SerializationError("Data should be null for a VoidDeserializer.")


_DESERIALIZERS: Final[dict[str, Deserializer]] = {
    "String": _text,
    "Integer": _number("Integer", ">i", 4),
    "Long": _number("Long", ">q", 8),
    "Short": _number("Short", ">h", 2),
    "Float": _number("Float", ">f", 4, java_float),
    "Double": _number("Double", ">d", 8, java_double),
    "Boolean": _boolean,
    "UUID": _uuid,
    "Bytes": _escaped,
    "ByteBuffer": _buffer,
    "ByteArray": bytes,
    "Void": _nothing,
}
