"""The messages and enums of a schema and of all that it imports, by full name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto

from ottla.schemas.protobuf.file_set import FileSet


@dataclass(frozen=True, slots=True)
class IndexedType:
    # Without the package.
    local_name: str
    descriptor: DescriptorProto | EnumDescriptorProto
    # `proto3`, `editions`, or nothing for proto2.
    syntax: str
    # Whether it is declared in the schema's own file.
    is_own: bool


def index_types(file_set: FileSet) -> dict[str, IndexedType]:
    """Full names with a dot in front, as fields have them."""
    return {
        f".{file.package}.{name}" if file.package else f".{name}": IndexedType(
            name, descriptor, file.syntax, is_own=file is file_set.main
        )
        for file in file_set.files
        for name, descriptor in _types_of(file)
    }


def _types_of(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto | EnumDescriptorProto]]:
    yield from ((enum.name, enum) for enum in file.enum_type)
    yield from _messages(file.message_type, "")


def _messages(
    messages: Iterable[DescriptorProto], prefix: str
) -> Iterator[tuple[str, DescriptorProto | EnumDescriptorProto]]:
    for message in messages:
        name = prefix + message.name
        yield name, message
        yield from ((f"{name}.{enum.name}", enum) for enum in message.enum_type)
        yield from _messages(message.nested_type, f"{name}.")
