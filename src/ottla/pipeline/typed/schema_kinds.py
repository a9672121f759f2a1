"""A schema of a registry that types a column, as the driver has found it and executors use it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ottla.pipeline.typed.column_kinds import Kind
from ottla.schemas.format import ParsedSchema
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.registry_client.settings import RegistryClientSettings
from ottla.schemas.schema import Schema, SchemaType


@dataclass(frozen=True, slots=True)
class TypingSchema:
    """It travels to executors, and is a key there. `message` is the full name of Protobuf's message."""

    settings: RegistryClientSettings
    schema: RegisteredSchema
    message: str | None = None


def typing_schema(known: KnownSchemas, schema: RegisteredSchema, message: str | None) -> TypingSchema:
    """SchemaError if it cannot be read, or has no such message.

    An Avro schema has its references in it from here on, so that executors need not ask for them.
    """
    found = replace(schema, metadata=None, rule_set=None)
    if schema.schema.type is SchemaType.AVRO:
        text = known.parsed(schema).formatted("resolved")
        found = replace(found, schema=Schema(text, SchemaType.AVRO))
    if schema.schema.type is SchemaType.PROTOBUF:
        message = message or known.parsed(schema).name
    return TypingSchema(known.client.settings, found, message)


def kind_of(typing: TypingSchema, parsed: ParsedSchema) -> Kind:
    """PipelineError for a schema that no column has the type of."""
    match typing.schema.schema.type:
        case SchemaType.AVRO:
            from ottla.pipeline.typed.avro_kinds import avro_kind
            from ottla.schemas.avro.avro_format import AvroSchema

            assert isinstance(parsed, AvroSchema)
            return avro_kind(parsed)
        case SchemaType.JSON:
            from ottla.pipeline.typed.json_kinds import json_kind
            from ottla.schemas.json_schema.json_format import JsonSchema

            assert isinstance(parsed, JsonSchema)
            return json_kind(parsed)
        case SchemaType.PROTOBUF:
            from ottla.pipeline.typed.protobuf_kinds import message_kind
            from ottla.schemas.protobuf.protobuf_format import ProtobufSchema

            assert isinstance(parsed, ProtobufSchema)
            assert typing.message is not None, "the driver has named it"
            return message_kind(parsed.descriptor(typing.message))


def reader_schema(typing: TypingSchema, parsed: ParsedSchema) -> RegisteredSchema:
    """What records are read with, so that their values say all that the column has."""
    if typing.schema.schema.type is not SchemaType.AVRO:
        return typing.schema
    from ottla.pipeline.typed.avro_kinds import labelled
    from ottla.schemas.avro.avro_format import AvroSchema

    assert isinstance(parsed, AvroSchema)
    return replace(typing.schema, schema=Schema(labelled(parsed), SchemaType.AVRO))
