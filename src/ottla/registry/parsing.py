"""Reads schemas with what they refer to, and remembers those that it has read.

A reference names a version of a subject, which stays what it is: so what a schema means never changes, and the newest
readings are kept. A version that was deleted softly can still be referred to by those that did so before.

Large schemas are read in threads, so that others need not wait: a lock guards what is kept, and nobody holds it while a
schema is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from ottla.registry.state import RegistryState
from ottla.registry.subjects import qualify
from ottla.schemas.format import ParsedSchema, format_of
from ottla.schemas.references import resolve
from ottla.schemas.schema import Reference, Schema

_KEPT_MAX: Final = 1000
_Reading = tuple[Schema, tuple[tuple[str, str], ...], bool]


class SchemaReader:
    def __init__(self, kept_max: int = _KEPT_MAX) -> None:
        self._kept_max = kept_max
        # The one that was used last comes last.
        self._kept: OrderedDict[_Reading, ParsedSchema] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, state: RegistryState, subject: str, schema: Schema, is_new: bool) -> ParsedSchema:
        """SchemaError if it is no schema, or refers to something that is not there."""

        def find(reference: Reference) -> Schema | None:
            stored = state.find(qualify(reference.subject, subject), reference.version, deleted=not is_new)
            return None if stored is None else stored.schema

        texts = resolve(schema, find)
        reading = (schema, tuple(texts.items()), is_new)
        with self._guard:
            parsed = self._kept.get(reading)
            if parsed is not None:
                self._kept.move_to_end(reading)
                return parsed
        parsed = format_of(schema.type).parse(schema.text, texts, is_new=is_new)
        with self._guard:
            self._kept[reading] = parsed
            if len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
        return parsed
