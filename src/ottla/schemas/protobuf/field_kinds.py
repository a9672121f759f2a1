"""What a field holds, as far as a change of it matters to a reader.

| kind | scalars of that kind, which may replace each other |
| --- | --- |
| number | int32, int64, uint32, uint64, bool, enums |
| signed number | sint32, sint64 |
| text | string, bytes |
| fixed32 | fixed32, sfixed32 |
| fixed64 | fixed64, sfixed64 |
| float, double | itself |
| message, group, map | none: these are no scalars |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from ottla.schemas.protobuf.type_index import IndexedType


class Kind(Enum):
    NUMBER = auto()
    SIGNED_NUMBER = auto()
    TEXT = auto()
    FIXED32 = auto()
    FIXED64 = auto()
    FLOAT = auto()
    DOUBLE = auto()
    MESSAGE = auto()
    GROUP = auto()
    MAP = auto()

    @property
    def is_scalar(self) -> bool:
        return self not in (Kind.MESSAGE, Kind.GROUP, Kind.MAP)


_KINDS: Final = {
    FieldDescriptorProto.TYPE_INT32: Kind.NUMBER,
    FieldDescriptorProto.TYPE_INT64: Kind.NUMBER,
    FieldDescriptorProto.TYPE_UINT32: Kind.NUMBER,
    FieldDescriptorProto.TYPE_UINT64: Kind.NUMBER,
    FieldDescriptorProto.TYPE_BOOL: Kind.NUMBER,
    FieldDescriptorProto.TYPE_ENUM: Kind.NUMBER,
    FieldDescriptorProto.TYPE_SINT32: Kind.SIGNED_NUMBER,
    FieldDescriptorProto.TYPE_SINT64: Kind.SIGNED_NUMBER,
    FieldDescriptorProto.TYPE_STRING: Kind.TEXT,
    FieldDescriptorProto.TYPE_BYTES: Kind.TEXT,
    FieldDescriptorProto.TYPE_FIXED32: Kind.FIXED32,
    FieldDescriptorProto.TYPE_SFIXED32: Kind.FIXED32,
    FieldDescriptorProto.TYPE_FIXED64: Kind.FIXED64,
    FieldDescriptorProto.TYPE_SFIXED64: Kind.FIXED64,
    FieldDescriptorProto.TYPE_FLOAT: Kind.FLOAT,
    FieldDescriptorProto.TYPE_DOUBLE: Kind.DOUBLE,
    FieldDescriptorProto.TYPE_GROUP: Kind.GROUP,
}


@dataclass(frozen=True, slots=True)
class MapFields:
    key: FieldDescriptorProto
    value: FieldDescriptorProto


def kind_of(field: FieldDescriptorProto, types: dict[str, IndexedType]) -> Kind:
    if field.type == FieldDescriptorProto.TYPE_MESSAGE:
        return Kind.MAP if map_fields(field, types) is not None else Kind.MESSAGE
    return _KINDS[field.type]


def map_fields(field: FieldDescriptorProto, types: dict[str, IndexedType]) -> MapFields | None:
    """The key and the value of a map; nothing if the field is none."""
    entry = types[field.type_name].descriptor if field.type_name in types else None
    if not isinstance(entry, DescriptorProto) or not entry.options.map_entry:
        return None
    by_number = {one.number: one for one in entry.field}
    return MapFields(by_number[1], by_number[2])
