"""From a value to a record: framed with the id of its schema, or with its guid for a header."""

from __future__ import annotations

from dataclasses import dataclass

from ottla.schemas.errors import SchemaError
from ottla.schemas.format import Encode, ParsedSchema
from ottla.schemas.framing import encode_indexes, frame, header_of
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.schema import SchemaType


@dataclass(frozen=True, slots=True)
class Encoded:
    data: bytes
    # For KEY_HEADER or VALUE_HEADER; None if the id is in front of the data.
    header: bytes | None = None


class RecordWriter:
    def __init__(
        self,
        known: KnownSchemas,
        schema: RegisteredSchema,
        *,
        message: str | None = None,
        in_header: bool = False,
        from_json: bool = False,
    ) -> None:
        """`message` is the full name of a Protobuf message; without it the first one of the file is meant. With
        `from_json`, values are those of JSON, as a reader with `as_json` gives them.

        SchemaError if the schema has no such message, or no id or guid to be found by.
        """
        parsed = known.parsed(schema)
        encode, indexes = _encoder(parsed, schema, message, from_json=from_json)
        self.schema = schema
        self._encode = encode
        if in_header:
            if schema.guid is None:
                raise SchemaError(
                    f"the registry told no guid of the {schema}; write its id in front of records instead"
                )
            self.header: bytes | None = header_of(schema.guid) + indexes
            self._prefix = b""
        else:
            if schema.id is None:
                raise SchemaError(f"the registry told no id of the {schema}")
            self.header = None
            self._prefix = frame(schema.id, indexes)

    def write(self, value: object) -> Encoded:
        """UnwritableValue for what does not fit the schema."""
        return Encoded(self._prefix + self._encode(value), self.header)


def _encoder(
    parsed: ParsedSchema, schema: RegisteredSchema, message: str | None, *, from_json: bool
) -> tuple[Encode, bytes]:
    """The encoder, and where Protobuf's message is in its file."""
    if schema.schema.type is SchemaType.PROTOBUF:
        from ottla.schemas.protobuf.protobuf_format import ProtobufSchema

        assert isinstance(parsed, ProtobufSchema)
        indexes = (0,) if message is None else parsed.indexes_of(message)
        return parsed.encoder(indexes), encode_indexes(indexes)
    if message is not None:
        raise SchemaError(f"{message} names a message of Protobuf, and this is the {schema}")
    if from_json and schema.schema.type is SchemaType.AVRO:
        from ottla.schemas.avro.avro_format import AvroSchema

        assert isinstance(parsed, AvroSchema)
        return parsed.json_encoder(), b""
    return parsed.encoder(), b""
