"""From a record to a value: by the id in front of it or the guid in its header, as one schema or as a reader sees it.

The schema that wrote a record is asked for once; from then on a record costs a look at its first bytes and the decoder.
A schema that cannot be read is not tried again for each record: that it cannot is remembered too. A registry that
cannot be asked is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from ottla.schemas.errors import SchemaError, UnreadableData
from ottla.schemas.format import Decode, ParsedSchema
from ottla.schemas.framing import ID_BYTES, decode_indexes, guid_in, unframe
from ottla.schemas.registry_client.errors import RegistryFailure
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.schema import SchemaType

DECODERS_MAX: Final = 1000


class Decoded(NamedTuple):
    """A tuple, because making one costs half of what a frozen dataclass does, for each record."""

    value: object
    # What the record was written with.
    schema: RegisteredSchema


@dataclass(frozen=True, slots=True)
class _Writer:
    schema: RegisteredSchema
    decode: Decode
    # How many bytes of a record are in front of its data.
    prefix_bytes: int


class RecordReader:
    def __init__(
        self,
        known: KnownSchemas,
        reader: RegisteredSchema | None = None,
        subject: str | None = None,
        *,
        as_json: bool = False,
    ) -> None:
        """With a reader's schema, records become values of that one. A subject says in which context ids count.

        `as_json` gives values of JSON; see `ottla.schemas.avro.plain_json` for Avro's. It goes with no reader.
        """
        assert reader is None or not as_json
        self._known = known
        self._reader = reader
        self._subject = subject
        self._as_json = as_json
        # By what stands in front of records, or in their headers.
        self._writers: dict[bytes, _Writer] = {}
        self._unreadable: dict[bytes, SchemaError] = {}

    def read(self, data: bytes, header: bytes | None = None) -> Decoded:
        """`header` is the value of KEY_HEADER or VALUE_HEADER, if the record has one.

        UnreadableData for what is not written with a registry's schema or does not fit it; SchemaError for a schema
        that cannot be read, RegistryFailure for one that cannot be had.
        """
        writer = self._writers.get(data[:ID_BYTES] if header is None else header)
        if writer is None:
            writer = self._find_writer(data, header)
        return Decoded(writer.decode(data[writer.prefix_bytes :]), writer.schema)

    def _find_writer(self, data: bytes, header: bytes | None) -> _Writer:
        """What is not in `_writers` yet."""
        if header is None:
            name: int | UUID = unframe(data).id
            key, place = data[:ID_BYTES], None
        else:
            name, place = guid_in(header)
            key = header
        failure = self._unreadable.get(key)
        if failure is not None:
            # A traceback that grew with each record would keep all of them.
            raise failure.with_traceback(None)
        if len(self._writers) + len(self._unreadable) >= DECODERS_MAX:
            self._writers.clear()
            self._unreadable.clear()
        try:
            registered = self._registered(name)
            decode = self._decoder(registered, place)
        except RegistryFailure:
            raise
        except SchemaError as error:
            self._unreadable[key] = error
            raise
        writer = self._writers[key] = _Writer(registered, decode, ID_BYTES if header is None else 0)
        return writer

    def _registered(self, name: int | UUID) -> RegisteredSchema:
        if isinstance(name, UUID):
            return self._known.client.schema_by_guid(name)
        return self._known.client.schema_by_id(name, self._subject)

    def _decoder(self, registered: RegisteredSchema, place: memoryview | None) -> Decode:
        """`place` is where a header says which message it is."""
        if self._reader is not None and self._reader.schema.type is not registered.schema.type:
            raise UnreadableData(f"it was written with {registered}, and is read with {self._reader}")
        parsed = self._known.parsed(registered)
        reader = None if self._reader is None else self._known.parsed(self._reader)
        if registered.schema.type is SchemaType.PROTOBUF:
            messages = _Messages(parsed, reader)
            return messages.decode if place is None else messages.decoder_at(decode_indexes(place)[0])
        if self._as_json and registered.schema.type is SchemaType.AVRO:
            from ottla.schemas.avro.avro_format import AvroSchema

            assert isinstance(parsed, AvroSchema)
            return parsed.json_decoder()
        return parsed.decoder(reader)


class _Messages:
    """The messages of a Protobuf file; which one a record is stands in front of it."""

    def __init__(self, parsed: ParsedSchema, reader: ParsedSchema | None) -> None:
        from ottla.schemas.protobuf.protobuf_format import ProtobufSchema

        assert isinstance(parsed, ProtobufSchema)
        assert reader is None or isinstance(reader, ProtobufSchema)
        self._parsed = parsed
        self._reader = reader
        # There are no more of them than the file declares.
        self._decoders: dict[tuple[int, ...], Decode] = {}

    def decode(self, data: bytes) -> object:
        indexes, message = decode_indexes(memoryview(data))
        return self.decoder_at(indexes)(bytes(message))

    def decoder_at(self, indexes: tuple[int, ...]) -> Decode:
        decode = self._decoders.get(indexes)
        if decode is None:
            decode = self._decoders[indexes] = self._parsed.decoder(self._reader, indexes)
        return decode
