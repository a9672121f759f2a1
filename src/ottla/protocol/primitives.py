"""Variable-length integers, as the flexible encodings and the records use them.

Readers take a buffer and a position and return the value and the position after it. They raise IndexError at the end of
the buffer and ValueError for an integer of too many bytes; the reader of a whole message turns both into one error.
"""

from typing import Protocol


class Buffer(Protocol):
    """bytes, bytearray or memoryview: what can be indexed to a byte."""

    def __getitem__(self, index: int, /) -> int: ...

    def __len__(self) -> int: ...


_VARINT_MAX_SHIFT = 28
_VARLONG_MAX_SHIFT = 63

UVARINT_SMALL: tuple[bytes, ...] = tuple(bytes((n,)) for n in range(128))


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits."""
    byte = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    shift = 7
    while True:
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                raise ValueError("varint is longer than 32 bits")
            return value, position + 1
        shift += 7
        if shift > _VARINT_MAX_SHIFT:
            raise ValueError("varint is longer than 5 bytes")


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 64 bits."""
    byte = buffer[position]
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        if shift > _VARLONG_MAX_SHIFT:
            raise ValueError("varlong is longer than 10 bytes")
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), position + 1


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 32 bits."""
    value, position = read_uvarint(buffer, position)
    return (value >> 1) ^ -(value & 1), position


def write_uvarint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 0x80:
        return UVARINT_SMALL[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_varint(value: int) -> bytes:
    """A zigzag varint; the same bytes serve for 32 and for 64 bits."""
    return write_uvarint(value << 1 if value >= 0 else (-value << 1) - 1)
