import struct
from collections.abc import Callable
from uuid import UUID

import pytest

from ottla.cli.kafka.console.java_deserializers import SerializationError, deserializer_named


def read(name: str) -> Callable[[bytes], bytes]:
    found = deserializer_named(f"org.apache.kafka.common.serialization.{name}Deserializer")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "data", "printed"),
    [
        ("String", b"caf\xc3\xa9 \xff", "café \ufffd".encode()),
        ("Integer", b"\xff\xff\xff\xfe", b"-2"),
        ("Long", b"\0\0\0\0\0\0\1\0", b"256"),
        ("Short", b"\1\0", b"256"),
        ("Boolean", b"\1", b"true"),
        ("Bytes", b"a\\\0\xffz", rb"a\x5C\x00\xFFz"),
        ("ByteBuffer", b"abc", b"java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]"),
        ("ByteArray", b"\0a", b"\0a"),
        ("UUID", str(UUID(int=1)).encode(), str(UUID(int=1)).encode()),
    ],
)
def test_bytes_are_printed_as_java_does(name: str, data: bytes, printed: bytes) -> None:
    assert read(name)(data) == printed


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (100.25, "100.25"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-1.5e300, "-1.5E300"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_java_does(number: float, printed: str) -> None:
    assert read("Double")(struct.pack(">d", number)) == printed.encode()


@pytest.mark.parametrize(
    ("number", "printed"), [(0.1, "0.1"), (16777216.0, "1.6777216E7"), (3.4028235e38, "3.4028235E38")]
)
def test_floats_have_their_own_shortest_digits(number: float, printed: str) -> None:
    assert read("Float")(struct.pack(">f", number)) == printed.encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [("Long", b"1"), ("Integer", b""), ("Boolean", b"\2"), ("Boolean", b"\0\0"), ("UUID", b"x"), ("Void", b"x")],
)
def test_other_bytes_are_refused(name: str, data: bytes) -> None:
    with pytest.raises(SerializationError, match=name):
        read(name)(data)


def test_a_class_of_somebody_else_is_not_there() -> None:
    assert deserializer_named("com.example.AvroDeserializer") is None
