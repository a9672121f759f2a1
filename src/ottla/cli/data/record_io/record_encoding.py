"""JSON of an input becomes keys and values with the id of a registry's schema in front, or its guid in a header.

Which schema it is, the command says for all records, or a line of `consume -o jsonl` for itself.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.cli.data.record_io.json_records import InputRecord, SchemaName

if TYPE_CHECKING:
    from ottla.protocol.records import Headers
    from ottla.schemas.registry_client.known_schemas import KnownSchemas
    from ottla.schemas.registry_client.record_writing import RecordWriter
    from ottla.schemas.registry_client.registered import RegisteredSchema
    from ottla.schemas.registry_client.registry_client import RegistryClient

# Each line may name another schema.
_WRITERS_MAX: Final = 1000


class RecordEncoding:
    def __init__(
        self,
        open_client: "Callable[[], RegistryClient]",
        value: "RegisteredSchema | None" = None,
        key: "RegisteredSchema | None" = None,
    ) -> None:
        """The client is opened when the first record needs it."""
        self._open_client = open_client
        self._for_all = {"value": value, "key": key}
        self._is_for_all = value is not None or key is not None
        self._known: KnownSchemas | None = None
        # By the part of a record for which the command names a schema, else by the name that lines give it.
        self._writers: dict[str | SchemaName | None, RecordWriter] = {}

    def close(self) -> None:
        if self._known is not None:
            self._known.client.close()

    def encoded(self, record: InputRecord) -> InputRecord:
        """ValueError says which part does not fit and why; RegistryFailure if the schema cannot be had."""
        if not self._is_for_all and record.value_schema is None and record.key_schema is None:
            return record
        from ottla.schemas.framing import KEY_HEADER, VALUE_HEADER

        key, headers = self._part("key", record.key, record.key_schema, record.headers, KEY_HEADER)
        value, headers = self._part("value", record.value, record.value_schema, headers, VALUE_HEADER)
        return replace(record, value=value, key=key, headers=headers)

    def _part(
        self, name: str, text: bytes | None, schema: SchemaName | None, headers: "Headers", header_name: str
    ) -> "tuple[bytes | None, Headers]":
        from ottla.schemas.errors import SchemaError
        from ottla.schemas.registry_client.errors import RegistryFailure

        if text is None or (schema is None and self._for_all[name] is None):
            return text, headers
        try:
            written = self._writer(name, schema).write(json.loads(text))
        except RegistryFailure:
            raise
        except SchemaError as error:
            raise ValueError(f"the {name} does not fit its schema: {error}") from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the {name} is not JSON: {error}") from None
        return written.data, _with_header(headers, header_name, written.header)

    def _writer(self, name: str, schema: SchemaName | None) -> "RecordWriter":
        """What the command says is stronger than what a line says."""
        for_all = self._for_all[name]
        key: str | SchemaName | None = schema if for_all is None else name
        writer = self._writers.get(key)
        if writer is None:
            if len(self._writers) >= _WRITERS_MAX:
                self._writers.clear()
            writer = self._writers[key] = self._make_writer(for_all or schema)
        return writer

    def _make_writer(self, chosen: "RegisteredSchema | SchemaName | None") -> "RecordWriter":
        from ottla.schemas.registry_client.known_schemas import KnownSchemas
        from ottla.schemas.registry_client.record_writing import RecordWriter

        if self._known is None:
            self._known = KnownSchemas(self._open_client())
        assert chosen is not None
        if not isinstance(chosen, SchemaName):
            return RecordWriter(self._known, chosen, from_json=True)
        if chosen.guid is not None:
            schema = self._known.client.schema_by_guid(chosen.guid)
        else:
            assert chosen.id is not None
            schema = self._known.client.schema_by_id(chosen.id)
        return RecordWriter(
            self._known, schema, message=chosen.message, in_header=chosen.guid is not None, from_json=True
        )


def _with_header(headers: "Headers", name: str, value: bytes | None) -> "Headers":
    """Whoever reads the record looks for the header first: an old one would lead astray."""
    if (name, value) in headers:
        return headers
    others = tuple(one for one in headers if one[0] != name)
    return others if value is None else (*others, (name, value))
