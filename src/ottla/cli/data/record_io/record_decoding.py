"""Keys and values of records as JSON, where they say which schema of a registry they were written with.

A record that does not say so is shown as it is. One that cannot be decoded is shown as it is, too, and named, once for
each reason: a topic may be full of them. A registry that does not answer is left alone for seconds, since everything
else waits while it is asked.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.cli.data.record_io.json_records import json_of, json_text
from ottla.schemas.errors import SchemaError
from ottla.schemas.framing import (
    ID_BYTES,
    KEY_HEADER,
    VALUE_HEADER,
    decode_indexes,
    guid_in,
    is_framed,
    unframe,
)
from ottla.schemas.registry_client.errors import RegistryUnreachable
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.record_reading import RecordReader
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.schema import SchemaType

if TYPE_CHECKING:
    from ottla.client import Record

SILENCE_S: Final = 10.0
# Beyond, no further reasons are named: they come from records.
_REASONS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class _Part:
    """A key or a value that was decoded, and what `-o json` tells of its schema beside its id."""

    value: object
    schema: RegisteredSchema
    more: dict[str, object] = field(default_factory=dict)


class RecordDecoding:
    def __init__(
        self,
        open_client: Callable[[], RegistryClient],
        tell: Callable[[str], None],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """The client is opened when the first record needs it."""
        self._open_client = open_client
        self._tell = tell
        self._now_s = now_s
        self._known: KnownSchemas | None = None
        self._reader: RecordReader | None = None
        self._silent_until_s = float("-inf")
        self._named: set[object] = set()

    def close(self) -> None:
        if self._known is not None:
            self._known.client.close()

    def as_text(self, record: "Record") -> "Record":
        """The record with JSON in place of what could be decoded."""
        key, value = self._part(record, "key"), self._part(record, "value")
        if key is not None:
            record = record._replace(key=json_text(key.value, is_compact=True))
        return record if value is None else record._replace(value=json_text(value.value, is_compact=True))

    def json_of(self, record: "Record") -> dict[str, object]:
        """The record as JSON values, with ids of schemas under the names that kcat gives them."""
        row = json_of(record)
        for name in ("key", "value"):
            part = self._part(record, name)
            row[f"{name}_schema_id"] = None if part is None else part.schema.id
            if part is not None:
                row[name] = part.value
                row |= {f"{name}_{what}": told for what, told in part.more.items()}
        return row

    def _part(self, record: "Record", name: str) -> _Part | None:
        data = record.key if name == "key" else record.value
        wanted = KEY_HEADER if name == "key" else VALUE_HEADER
        header = next((value for found, value in record.headers if found == wanted), None) if record.headers else None
        if data is None or record.batch.is_control or (header is None and not is_framed(data)):
            return None
        if self._now_s() < self._silent_until_s:
            return None
        try:
            return self._decoded(data, header)
        except RegistryUnreachable as error:
            self._silent_until_s = self._now_s() + SILENCE_S
            self._name(record, name, error, None)
        except SchemaError as error:
            self._name(record, name, error, data[:ID_BYTES] if header is None else header)
        return None

    def _decoded(self, data: bytes, header: bytes | None) -> _Part:
        if self._reader is None:
            self._open()
        assert self._reader is not None
        decoded = self._reader.read(data, header)
        more: dict[str, object] = {}
        if header is not None:
            more["schema_guid"] = str(decoded.schema.guid)
        if decoded.schema.schema.type is SchemaType.PROTOBUF:
            more["message"] = self._message_name(decoded.schema, data, header)
        return _Part(decoded.value, decoded.schema, more)

    def _open(self) -> None:
        self._known = KnownSchemas(self._open_client())
        self._reader = RecordReader(self._known, as_json=True)

    def _message_name(self, schema: RegisteredSchema, data: bytes, header: bytes | None) -> str:
        from ottla.schemas.protobuf.protobuf_format import ProtobufSchema

        assert self._known is not None
        parsed = self._known.parsed(schema)
        assert isinstance(parsed, ProtobufSchema)
        place = unframe(data).data if header is None else guid_in(header)[1]
        return parsed.message_at(decode_indexes(place)[0])

    def _name(self, record: "Record", name: str, error: Exception, schema: bytes | None) -> None:
        code = getattr(error, "code", None)
        # Ids that nobody knows are one reason, however many they are.
        reason = (name, type(error), code if code is not None else schema)
        if reason in self._named or len(self._named) >= _REASONS_MAX:
            return
        self._named.add(reason)
        place = f"{record.topic}-{record.partition} offset {record.offset}"
        self._tell(f"{place}: its {name} is shown as it is: {error}. Others like it are not named.")
