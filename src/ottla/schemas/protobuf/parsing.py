"""From a text to its declarations and its descriptors.

A text is .proto source, or a serialised FileDescriptorProto in base64: clients that have no source send that. Source
goes to protoc as it is, so that lines and columns are right; a text with messages for the entries of maps is written
anew before. A descriptor needs no compiler, but those that it imports do; and the text that will be stored for it must
be one that protoc takes.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.protobuf.compiling import compile_file, free_name
from ottla.schemas.protobuf.descriptor_reader import check_nesting, check_texts, read_descriptor
from ottla.schemas.protobuf.element_printer import print_file
from ottla.schemas.protobuf.element_reader import read_elements
from ottla.schemas.protobuf.elements import ProtoFile
from ottla.schemas.protobuf.file_set import FileSet, link
from ottla.schemas.protobuf.literals import write_literal
from ottla.schemas.protobuf.map_entries import fold_maps, has_entries, restore_order
from ottla.schemas.protobuf.source_tokens import check_bounds

_BASE64: Final = re.compile(r"\s*[A-Za-z0-9+/\s]+={0,2}\s*")


@dataclass(frozen=True, slots=True)
class ParsedFile:
    elements: ProtoFile
    file_set: FileSet


def parse_file(text: str, references: Mapping[str, str]) -> ParsedFile:
    """InvalidSchema if the text is neither form, or does not fit what it imports."""
    _check_characters(text)
    sources: dict[str, str] = {}
    for name, reference in references.items():
        _check_characters(reference)
        # A reference may need those before it to be written as source.
        sources[name] = _source_of(name, reference, sources)
    descriptor = read_serialized(text)
    return _parse_source(text, sources) if descriptor is None else _parse_descriptor(descriptor, sources)


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidSchema(
            f"character {error.start + 1} is half of a surrogate pair, which no text has alone"
        ) from None


def read_serialized(text: str) -> FileDescriptorProto | None:
    """The descriptor in a text, or nothing if the text is something else: source has other characters."""
    if not _BASE64.fullmatch(text):
        return None
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text))
    except (binascii.Error, DecodeError):
        return None


def _source_of(name: str, text: str, references: Mapping[str, str]) -> str:
    """A reference as protoc can read it."""
    descriptor = read_serialized(text)
    if descriptor is not None:
        try:
            return print_file(fold_maps(_parse_descriptor(descriptor, references).elements))
        except InvalidSchema as error:
            raise InvalidSchema(f"the reference {name}: {error}") from None
    return _readable(text)[0]


def _readable(text: str) -> tuple[str, ProtoFile | None]:
    """A text that protoc takes, and the declarations if they had to be read for that."""
    check_bounds(text)
    if "map_entry" not in text:
        return text, None
    try:
        elements = read_elements(text)
    except InvalidSchema:
        # protoc will say so with line and column.
        return text, None
    return (print_file(fold_maps(elements)), elements) if has_entries(elements) else (text, None)


def _parse_source(text: str, references: Mapping[str, str]) -> ParsedFile:
    source, elements = _readable(text)
    files = compile_file(source, references)
    if elements is None:
        return ParsedFile(read_elements(text), link(files))
    restore_order(files[-1], elements)
    return ParsedFile(elements, link(files))


def _parse_descriptor(descriptor: FileDescriptorProto, references: Mapping[str, str]) -> ParsedFile:
    check_nesting(descriptor.message_type)
    check_texts(descriptor)
    imports = "".join(f"import {write_literal(path.encode())};\n" for path in dict.fromkeys(descriptor.dependency))
    imported = compile_file(imports, references)[:-1]
    descriptor.name = free_name(references)
    descriptor.ClearField("source_code_info")
    file_set = link([*imported, descriptor])
    elements = read_descriptor(descriptor, file_set.pool)
    source = print_file(fold_maps(elements))
    check_bounds(source)
    compile_file(source, references)
    return ParsedFile(elements, file_set)
