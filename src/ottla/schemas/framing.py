"""How a record says which schema it was written with (Confluent's wire format).

In front of the data: a byte 0 and the schema's id in four bytes; or, in newer clients, in a header of the record named
`__key_schema_id` or `__value_schema_id`: a byte 1 and the schema's guid in sixteen bytes. In both places Protobuf adds
where the message is in its file, as a path of indexes: their number and each of them as zigzag varints; the single
index 0 is shortened to one byte 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ottla.protocol.primitives import read_varint, write_varint
from ottla.schemas.errors import UnreadableData

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"
_ID_MAGIC: Final = 0
_GUID_MAGIC: Final = 1
# What stands in front of a record's data.
ID_BYTES: Final = 5
_GUID_BYTES: Final = 17
_INDEXES_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Framed:
    """A record taken apart."""

    id: int
    data: memoryview


def frame(schema_id: int, data: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + data


def is_framed(record: bytes) -> bool:
    """Whether there may be an id in front: what begins like one need not be one."""
    return len(record) >= ID_BYTES and record[0] == _ID_MAGIC


def unframe(record: bytes) -> Framed:
    """UnreadableData if there is no id in front."""
    if len(record) < ID_BYTES:
        raise UnreadableData(f"{len(record)} bytes are too few for the id of a schema, which takes {ID_BYTES}")
    if record[0] != _ID_MAGIC:
        raise UnreadableData(
            f"the first byte is {record[0]} and not 0: the record was not written with a schema of a registry"
        )
    return Framed(int.from_bytes(record[1:ID_BYTES]), memoryview(record)[ID_BYTES:])


def header_of(guid: UUID) -> bytes:
    return bytes((_GUID_MAGIC,)) + guid.bytes


def guid_in(header: bytes) -> tuple[UUID, memoryview]:
    """The guid in a header, and what follows it; UnreadableData if there is none."""
    if len(header) < _GUID_BYTES or header[0] != _GUID_MAGIC:
        raise UnreadableData(f"a header of {len(header)} bytes is not the guid of a schema: a byte 1 and 16 bytes")
    return UUID(bytes=bytes(header[1:_GUID_BYTES])), memoryview(header)[_GUID_BYTES:]


def encode_indexes(indexes: tuple[int, ...]) -> bytes:
    """The place of a message in a Protobuf file, from the outermost message to the innermost."""
    if indexes == (0,):
        return b"\0"
    return b"".join(map(write_varint, (len(indexes), *indexes)))


def decode_indexes(data: memoryview) -> tuple[tuple[int, ...], memoryview]:
    """The place of the message, and the data behind it."""
    try:
        count, position = read_varint(data, 0)
        if count == 0:
            return (0,), data[position:]
        if not 0 < count <= _INDEXES_MAX:
            raise ValueError(f"{count} of them, where at most {_INDEXES_MAX} make sense")
        indexes = []
        for _ in range(count):
            index, position = read_varint(data, position)
            indexes.append(index)
    except IndexError:
        raise UnreadableData("the data end within the message indexes") from None
    except ValueError as error:
        raise UnreadableData(f"damaged message indexes: {error}") from None
    return tuple(indexes), data[position:]
