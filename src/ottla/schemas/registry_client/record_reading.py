"""From a record to a value: by the id in front of it or the guid in its header, as one schema or as a reader sees it.

The schema that wrote a record is asked for once; from then on a record costs a look at its id and the decoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from ottla.schemas.errors import UnreadableData
from ottla.schemas.format import Decode, ParsedSchema
from ottla.schemas.framing import decode_indexes, guid_in, unframe
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.schema import SchemaType

_DECODERS_MAX: Final = 1000
_NO_INDEXES: Final[tuple[int, ...]] = ()


@dataclass(frozen=True, slots=True)
class Decoded:
    value: object
    # What the record was written with.
    schema: RegisteredSchema


@dataclass(frozen=True, slots=True)
class _Writer:
    schema: RegisteredSchema
    decode: Decode


class RecordReader:
    def __init__(self, known: KnownSchemas, reader: RegisteredSchema | None = None, subject: str | None = None) -> None:
        """With a reader's schema, records become values of that one. A subject says in which context ids count."""
        self._known = known
        self._reader = reader
        self._subject = subject
        self._writers: dict[tuple[int | UUID, tuple[int, ...]], _Writer] = {}
        self._types: dict[int | UUID, SchemaType] = {}

    def read(self, data: bytes, header: bytes | None = None) -> Decoded:
        """`header` is the value of KEY_HEADER or VALUE_HEADER, if the record has one.

        UnreadableData for what is not written with a registry's schema or does not fit it; SchemaError for a schema
        that cannot be read, RegistryFailure for one that cannot be had.
        """
        if header is None:
            framed = unframe(data)
            return self._decode(framed.id, framed.data, None)
        guid, rest = guid_in(header)
        return self._decode(guid, memoryview(data), rest)

    def _decode(self, name: int | UUID, data: memoryview, place: memoryview | None) -> Decoded:
        """`place` is where a header says which message it is."""
        schema_type = self._types.get(name)
        if schema_type is None:
            schema_type = self._types[name] = self._registered(name).schema.type
        indexes = _NO_INDEXES
        if schema_type is SchemaType.PROTOBUF:
            if place is None:
                indexes, data = decode_indexes(data)
            else:
                indexes, _ = decode_indexes(place)
        writer = self._writers.get((name, indexes))
        if writer is None:
            writer = self._make_writer(name, indexes)
        return Decoded(writer.decode(bytes(data)), writer.schema)

    def _make_writer(self, name: int | UUID, indexes: tuple[int, ...]) -> _Writer:
        registered = self._registered(name)
        if self._reader is not None and self._reader.schema.type is not registered.schema.type:
            raise UnreadableData(f"it was written with {registered}, and is read with {self._reader}")
        parsed = self._known.parsed(registered)
        reader = None if self._reader is None else self._known.parsed(self._reader)
        if len(self._writers) >= _DECODERS_MAX:
            self._writers.clear()
            self._types.clear()
        writer = _Writer(registered, _decoder(parsed, reader, indexes))
        self._types[name] = registered.schema.type
        self._writers[name, indexes] = writer
        return writer

    def _registered(self, name: int | UUID) -> RegisteredSchema:
        if isinstance(name, UUID):
            return self._known.client.schema_by_guid(name)
        return self._known.client.schema_by_id(name, self._subject)


def _decoder(parsed: ParsedSchema, reader: ParsedSchema | None, indexes: tuple[int, ...]) -> Decode:
    if not indexes:
        return parsed.decoder(reader)
    from ottla.schemas.protobuf.protobuf_format import ProtobufSchema

    assert isinstance(parsed, ProtobufSchema)
    assert reader is None or isinstance(reader, ProtobufSchema)
    return parsed.decoder(reader, indexes)
