"""Protobuf as a format of schemas: see `ottla.schemas.format` for what each method promises."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

from google.protobuf.descriptor import Descriptor

from ottla.schemas.errors import SchemaError
from ottla.schemas.finding import Finding
from ottla.schemas.format import Decode, Encode
from ottla.schemas.protobuf import message_indexes
from ottla.schemas.protobuf.codec import decoder_of, encoder_of
from ottla.schemas.protobuf.comparison import compare
from ottla.schemas.protobuf.element_printer import print_file
from ottla.schemas.protobuf.extension_filter import without_extensions
from ottla.schemas.protobuf.normalisation import normalise
from ottla.schemas.protobuf.parsing import ParsedFile, parse_file

_FIRST = (0,)


class ProtobufFormat:
    def parse(self, text: str, references: Mapping[str, str], *, is_new: bool = True) -> ProtobufSchema:
        """What is valid does not depend on whether it is new."""
        del is_new
        return ProtobufSchema(parse_file(text, references))


class ProtobufSchema:
    """A file, of which records hold one message or another: `message` is its place, as framing has it."""

    def __init__(self, parsed: ParsedFile) -> None:
        self._elements = parsed.elements
        self._file_set = parsed.file_set

    @cached_property
    def canonical(self) -> str:
        return print_file(self._elements)

    @property
    def name(self) -> str | None:
        """That of the first message, or of the first enum if there is no message."""
        types = self._elements.messages or self._elements.enums
        if not types:
            return None
        package = self._elements.package
        return types[0].name if package is None else f"{package}.{types[0].name}"

    def normalised(self) -> str:
        return print_file(normalise(self._elements, self._file_set))

    def formatted(self, form: str) -> str:
        if form == "serialized":
            return base64.b64encode(self._file_set.main.SerializeToString(deterministic=True)).decode("ascii")
        if form == "ignore_extensions":
            return print_file(without_extensions(self._elements))
        return self.canonical

    def compare(self, writer: Self) -> Sequence[Finding]:
        return compare(self._file_set, writer._file_set)

    def message_at(self, indexes: tuple[int, ...]) -> str:
        """The full name of the message in a place; SchemaError if there is none."""
        return message_indexes.name_at(self._elements, indexes)

    def indexes_of(self, full_name: str) -> tuple[int, ...]:
        """The place of a message; SchemaError if the schema's own file does not declare it."""
        return message_indexes.indexes_of(self._elements, full_name)

    def encoder(self, message: tuple[int, ...] = _FIRST) -> Encode:
        return encoder_of(self.descriptor(self.message_at(message)), self._file_set.pool)

    def decoder(self, reader: Self | None = None, message: tuple[int, ...] = _FIRST) -> Decode:
        """The reader's message is the one of the same full name."""
        seen = self if reader is None else reader
        return decoder_of(seen.descriptor(self.message_at(message)), seen._file_set.pool)

    def descriptor(self, full_name: str) -> Descriptor:
        """Of a message, by its full name; SchemaError if neither the file nor what it imports has it."""
        try:
            found: Descriptor = self._file_set.pool.FindMessageTypeByName(full_name)
        except KeyError:
            raise SchemaError(f"the reader's schema has no message {full_name}") from None
        return found
