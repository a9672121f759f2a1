"""What a format can do. Each is a package of its own, and is imported with its libraries when somebody uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

from ottla.schemas.finding import Finding
from ottla.schemas.schema import SchemaType

Encode = Callable[[object], bytes]
Decode = Callable[[bytes], object]


class ParsedSchema(Protocol):
    """A schema that was understood, with everything that it refers to. It never changes."""

    @property
    def canonical(self) -> str:
        """The text as a registry stores it: the same for texts that differ in white space alone."""

    @property
    def name(self) -> str | None:
        """The full name of the record or message, for subjects that are named after it."""

    def normalised(self) -> str:
        """The text without differences that have no meaning, such as the order of attributes. It is its own
        normalised text."""

    def formatted(self, form: str) -> str:
        """The text in another form, by the name that requests give it; the canonical one if the format has no such."""

    def compare(self, writer: Self) -> Sequence[Finding]:
        """Why this schema cannot read what `writer` has written; empty if it can."""

    def encoder(self) -> Encode:
        """Raises UnwritableValue for what does not fit."""

    def decoder(self, reader: Self | None = None) -> Decode:
        """Decodes what was written with this schema, as `reader` sees it. Raises UnreadableData for what does not fit,
        and SchemaError if the two do not go together."""


class SchemaFormat(Protocol):
    def parse(self, text: str, references: Mapping[str, str], *, is_new: bool = True) -> ParsedSchema:
        """Raises InvalidSchema.

        `references` are the texts that this one needs, directly or not, by name; each comes after those that it needs
        itself. What is not new was accepted before, perhaps by another registry, and is read with patience: a default
        that does not fit its type is a fault in a new schema alone.
        """


def format_of(schema_type: SchemaType) -> SchemaFormat:
    if schema_type is SchemaType.AVRO:
        from ottla.schemas.avro.avro_format import AvroFormat

        return AvroFormat()
    if schema_type is SchemaType.JSON:
        from ottla.schemas.json_schema.json_format import JsonFormat

        return JsonFormat()
    from ottla.schemas.protobuf.protobuf_format import ProtobufFormat

    return ProtobufFormat()
