"""Schemas of a registry that were read with all that they refer to. Reading one is dear, so it is done once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from ottla.schemas.format import ParsedSchema, format_of
from ottla.schemas.references import resolve
from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryRefusal
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.schema import Reference, Schema

KEPT_MAX: Final = 1000


class KnownSchemas:
    def __init__(self, client: RegistryClient) -> None:
        self.client = client
        # By schema and whether it was judged as a new one; the one that was used last comes last.
        self._parsed: OrderedDict[tuple[Schema, bool], ParsedSchema] = OrderedDict()

    def parsed(self, registered: RegisteredSchema) -> ParsedSchema:
        return self.parse(registered.schema)

    def parse(self, schema: Schema, *, is_new: bool = False) -> ParsedSchema:
        """SchemaError if it is no schema, or refers to something that is not there."""
        key = (schema, is_new)
        found = self._parsed.get(key)
        if found is None:
            texts = resolve(schema, self._find)
            found = self._parsed[key] = format_of(schema.type).parse(schema.text, texts, is_new=is_new)
            if len(self._parsed) > KEPT_MAX:
                self._parsed.popitem(last=False)
        else:
            self._parsed.move_to_end(key)
        return found

    def _find(self, reference: Reference) -> Schema | None:
        try:
            return self.client.version(reference.subject, reference.version, deleted=True).schema
        except RegistryRefusal as refusal:
            if refusal.code in NOT_FOUND_CODES:
                return None
            raise
