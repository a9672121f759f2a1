"""From a Protobuf message to the kind of its column, with the types that Spark's own `from_protobuf` has.

Values are those of `ottla.schemas.protobuf.codec`: Protobuf's JSON mapping under the names of the schema. A field that
records whether it was set is nullable; one that does not has its default.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
)

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.typed.column_kinds import Dictionary, Field, Growth, Kind, List, Plain, Struct
from ottla.pipeline.typed.json_values import (
    float_kind,
    number_kind,
    read_bytes,
    read_instant,
    read_seconds,
    text_kind,
    write_instant,
    write_seconds,
)

_WHOLE: Final[dict[int, DataType]] = {
    FieldDescriptor.TYPE_INT32: IntegerType(),
    FieldDescriptor.TYPE_SINT32: IntegerType(),
    FieldDescriptor.TYPE_SFIXED32: IntegerType(),
    FieldDescriptor.TYPE_UINT32: LongType(),
    FieldDescriptor.TYPE_FIXED32: LongType(),
    FieldDescriptor.TYPE_INT64: LongType(),
    FieldDescriptor.TYPE_SINT64: LongType(),
    FieldDescriptor.TYPE_SFIXED64: LongType(),
    FieldDescriptor.TYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.TYPE_FIXED64: DecimalType(20, 0),
}
# What Protobuf's JSON mapping has as any JSON, whose type is not known before it comes.
_FREE: Final = frozenset(f"google.protobuf.{name}" for name in ("Any", "ListValue", "Struct", "Value"))
_WRAPPER_SUFFIX: Final = "Value"
_WELL_KNOWN: Final = "google/protobuf/"


def message_kind(descriptor: Descriptor) -> Kind:
    """PipelineError for a message that no column has the type of."""
    return _KindMaker().message(descriptor, ())


class _KindMaker:
    def __init__(self) -> None:
        self._growth = Growth()

    def message(self, descriptor: Descriptor, around: tuple[str, ...]) -> Kind:
        self._growth.note(len(around))
        name = descriptor.full_name
        known = self._well_known(descriptor, around)
        if known is not None:
            return known
        if name in around:
            raise PipelineError(
                f"the message {name} contains itself, which no column can: Spark's types have an end. Read the topic "
                "with another schema, in which it does not"
            )
        return Struct([self._field(field, (*around, name)) for field in descriptor.fields])

    def _field(self, field: FieldDescriptor, around: tuple[str, ...]) -> Field:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name
            item = self._single(entry["value"], around)
            kind: Kind = Dictionary(item, has_nulls=False, key=_key_kind(entry["key"]))
            return Field(field.name, kind, is_nullable=False, omits_null=True)
        single = self._single(field, around)
        if field.is_repeated:
            return Field(field.name, List(single, has_nulls=False), is_nullable=False, omits_null=True)
        is_nullable = field.has_presence and not field.is_required
        return Field(field.name, single, is_nullable, omits_null=True)

    def _single(self, field: FieldDescriptor, around: tuple[str, ...]) -> Kind:
        if field.message_type is not None:
            return self.message(field.message_type, around)
        self._growth.note(len(around))
        return _scalar_kind(field)

    def _well_known(self, descriptor: Descriptor, around: tuple[str, ...]) -> Kind | None:
        name = descriptor.full_name
        if not descriptor.file.name.startswith(_WELL_KNOWN):
            return None
        if name in _FREE:
            return text_kind()
        match name.removeprefix("google.protobuf."):
            case "Timestamp":
                return Plain(TimestampType(), read_instant, write_instant)
            case "Duration":
                return Plain(DayTimeIntervalType(), read_seconds, write_seconds)
            case "FieldMask":
                return Plain(StringType())
        if name.endswith(_WRAPPER_SUFFIX) and [field.name for field in descriptor.fields] == ["value"]:
            return self._single(descriptor.fields[0], around)
        return None


def _scalar_kind(field: FieldDescriptor) -> Kind:
    match field.type:
        case FieldDescriptor.TYPE_BOOL:
            return Plain(BooleanType())
        case FieldDescriptor.TYPE_STRING:
            return Plain(StringType())
        case FieldDescriptor.TYPE_ENUM:
            # A number that the schema has no name for stays one.
            return Plain(StringType(), str)
        case FieldDescriptor.TYPE_BYTES:
            return Plain(BinaryType(), read_bytes)
        case FieldDescriptor.TYPE_FLOAT:
            return float_kind(FloatType())
        case FieldDescriptor.TYPE_DOUBLE:
            return float_kind(DoubleType())
    return number_kind(_WHOLE[field.type])


def _key_kind(field: FieldDescriptor) -> Kind:
    """Keys are texts in JSON."""
    if field.type == FieldDescriptor.TYPE_BOOL:
        return Plain(BooleanType(), _read_flag, _write_flag)
    if field.type == FieldDescriptor.TYPE_STRING:
        return Plain(StringType())
    return Plain(_WHOLE[field.type], int, str)


def _read_flag(text: Any) -> bool:
    return bool(text == "true")


def _write_flag(cell: Any) -> str:
    return "true" if cell else "false"
