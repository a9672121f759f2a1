"""How the descriptor of a field was written in its source."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

_LABELS: Final = {
    FieldDescriptorProto.LABEL_OPTIONAL: "optional",
    FieldDescriptorProto.LABEL_REQUIRED: "required",
    FieldDescriptorProto.LABEL_REPEATED: "repeated",
}


def is_in_one_of(field: FieldDescriptorProto) -> bool:
    """Whether the source has it in a oneof; a proto3 optional is in one of which the source knows nothing."""
    return bool(field.HasField("oneof_index") and not field.proto3_optional)


def label_of(field: FieldDescriptorProto, syntax: str) -> str | None:
    """The label that was written: proto3 writes `optional` only where it says something, editions never."""
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return "repeated"
    if is_in_one_of(field):
        return None
    if syntax in ("proto3", "editions"):
        return "optional" if field.proto3_optional else None
    return _LABELS[field.label]


def type_of(field: FieldDescriptorProto) -> str:
    """The name of a scalar, or the full name of a message or an enum, with a dot in front."""
    return str(field.type_name or FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower())
