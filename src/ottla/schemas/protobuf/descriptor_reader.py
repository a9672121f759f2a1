"""The declarations that a descriptor stands for, as Confluent's registry writes them.

A descriptor has full names of types with a dot in front, and a message for the entries of each map; both stay. Groups
become groups, where Confluent makes fields of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message as ProtobufMessage
from google.protobuf.message_factory import GetMessageClass

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.descriptor_options import read_descriptor_options
from ottla.schemas.protobuf.elements import (
    Enum,
    EnumConstant,
    Extend,
    ExtensionRanges,
    Field,
    Group,
    Import,
    Message,
    OneOf,
    OptionValue,
    ProtoFile,
    Quoted,
    Range,
    Reserved,
    Rpc,
    Service,
    Word,
)
from ottla.schemas.protobuf.field_declaration import is_in_one_of, label_of, type_of
from ottla.schemas.protobuf.literals import read_literal

_Messages: TypeAlias = dict[str, DescriptorProto]
# As deep as protoc lets messages be nested.
MESSAGE_DEPTH_MAX: Final = 32


def read_descriptor(file: FileDescriptorProto, pool: DescriptorPool) -> ProtoFile:
    """`pool` has the file with all that it imports. InvalidSchema if messages are nested too deep."""
    return _DescriptorReader(_with_extensions(file, pool)).read_file()


def check_nesting(messages: Iterable[DescriptorProto], depth: int = 1) -> None:
    """InvalidSchema if messages are nested deeper than protoc would take them as text."""
    if depth > MESSAGE_DEPTH_MAX:
        raise InvalidSchema(f"messages are nested more than {MESSAGE_DEPTH_MAX} deep; take the inner ones out")
    for message in messages:
        check_nesting(message.nested_type, depth + 1)


def check_texts(message: ProtobufMessage) -> None:
    """InvalidSchema if a text in a descriptor is no UTF-8: protobuf then gives bytes for it."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        for one in values:
            if field.message_type is not None:
                check_texts(one)
            elif field.type == field.TYPE_STRING and not isinstance(one, str):
                raise InvalidSchema(f"{field.name} in the descriptor is {one!r}, which is not UTF-8")


def _with_extensions(file: FileDescriptorProto, pool: DescriptorPool) -> FileDescriptorProto:
    """The same descriptor, as the pool's own classes read it: only they know custom options."""
    try:
        described = pool.FindMessageTypeByName("google.protobuf.FileDescriptorProto")
    except KeyError:
        return file
    read: FileDescriptorProto = GetMessageClass(described).FromString(file.SerializeToString())
    return read


class _DescriptorReader:
    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file

    def read_file(self) -> ProtoFile:
        file = self._file
        is_edition = file.syntax == "editions"
        groups = _groups_among(file.message_type, file.extension)
        return ProtoFile(
            # A descriptor of proto2 says nothing.
            Edition.Name(file.edition).removeprefix("EDITION_") if is_edition else file.syntax or None,
            is_edition,
            file.package or None,
            self._imports(),
            read_descriptor_options(file.options),
            tuple(self._message(message) for message in file.message_type if message.name not in groups),
            tuple(map(self._enum, file.enum_type)),
            self._extends(file.extension, groups),
            tuple(map(_service, file.service)),
        )

    def _imports(self) -> tuple[Import, ...]:
        modifiers = dict.fromkeys(self._file.weak_dependency, "weak")
        modifiers |= dict.fromkeys(self._file.public_dependency, "public")
        return tuple(Import(path, modifiers.get(index)) for index, path in enumerate(self._file.dependency))

    def _message(self, message: DescriptorProto) -> Message:
        groups = _groups_among(message.nested_type, (*message.field, *message.extension))
        alone = [field for field in message.field if not is_in_one_of(field)]
        return Message(
            message.name,
            self._fields(alone),
            tuple(self._one_ofs(message, groups)),
            self._groups(alone, groups),
            tuple(self._message(nested) for nested in message.nested_type if nested.name not in groups),
            tuple(map(self._enum, message.enum_type)),
            read_descriptor_options(message.options),
            (
                *(Reserved((Range(one.start, one.end - 1),)) for one in message.reserved_range),
                *self._reserved_names(message.reserved_name),
            ),
            tuple(
                ExtensionRanges((Range(one.start, one.end - 1),), read_descriptor_options(one.options))
                for one in message.extension_range
            ),
            self._extends(message.extension, groups),
        )

    def _one_ofs(self, message: DescriptorProto, groups: _Messages) -> Iterator[OneOf]:
        for index, one_of in enumerate(message.oneof_decl):
            members = [field for field in message.field if is_in_one_of(field) and field.oneof_index == index]
            # The oneof of a proto3 optional is no declaration.
            if members:
                options = read_descriptor_options(one_of.options)
                yield OneOf(one_of.name, self._fields(members), self._groups(members, groups), options)

    def _reserved_names(self, names: Iterable[str]) -> Iterator[Reserved]:
        is_edition = self._file.syntax == "editions"
        return (Reserved((Word(name) if is_edition else Quoted(name.encode()),)) for name in names)

    def _fields(self, fields: Iterable[FieldDescriptorProto]) -> tuple[Field, ...]:
        return tuple(
            Field(
                label_of(field, self._file.syntax),
                type_of(field),
                field.name,
                field.number,
                read_descriptor_options(field.options),
                _default_of(field) if field.HasField("default_value") else None,
                field.json_name if field.HasField("json_name") else None,
            )
            for field in fields
            if field.type != FieldDescriptorProto.TYPE_GROUP
        )

    def _groups(self, fields: Iterable[FieldDescriptorProto], groups: _Messages) -> tuple[Group, ...]:
        return tuple(
            Group(
                label_of(field, self._file.syntax),
                field.number,
                self._message(groups[_last_part(field.type_name)]),
                read_descriptor_options(field.options),
            )
            for field in fields
            if field.type == FieldDescriptorProto.TYPE_GROUP and _last_part(field.type_name) in groups
        )

    def _extends(self, fields: Sequence[FieldDescriptorProto], groups: _Messages) -> tuple[Extend, ...]:
        extends = []
        for name in dict.fromkeys(field.extendee for field in fields):
            members = [field for field in fields if field.extendee == name]
            extends.append(Extend(name, self._fields(members), self._groups(members, groups)))
        return tuple(extends)

    def _enum(self, enum: EnumDescriptorProto) -> Enum:
        return Enum(
            enum.name,
            tuple(EnumConstant(one.name, one.number, read_descriptor_options(one.options)) for one in enum.value),
            read_descriptor_options(enum.options),
            (
                *(Reserved((Range(one.start, one.end),)) for one in enum.reserved_range),
                *self._reserved_names(enum.reserved_name),
            ),
        )


def _groups_among(messages: Iterable[DescriptorProto], fields: Iterable[FieldDescriptorProto]) -> _Messages:
    """The messages of groups, by name: each is declared with its field."""
    names = {_last_part(field.type_name) for field in fields if field.type == FieldDescriptorProto.TYPE_GROUP}
    return {message.name: message for message in messages if message.name in names}


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _default_of(field: FieldDescriptorProto) -> OptionValue:
    if field.type == FieldDescriptorProto.TYPE_STRING:
        return Quoted(field.default_value.encode())
    if field.type == FieldDescriptorProto.TYPE_BYTES:
        # Kept with escapes, since a descriptor has texts alone.
        return Quoted(read_literal(f'"{field.default_value}"'))
    return Word(field.default_value)


def _service(service: ServiceDescriptorProto) -> Service:
    return Service(service.name, tuple(map(_rpc, service.method)), read_descriptor_options(service.options))


def _rpc(method: MethodDescriptorProto) -> Rpc:
    return Rpc(
        method.name,
        method.input_type,
        method.output_type,
        method.client_streaming,
        method.server_streaming,
        read_descriptor_options(method.options),
    )
