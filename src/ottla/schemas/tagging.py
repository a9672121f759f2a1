"""Tags within a schema: words such as PII at records and at fields, which rules of a data contract refer to.

A record and a field are named by a path, as Confluent's registry does. In Avro it is the full name of the record, and
the name of the field after it. In Protobuf it is the name of the message without the package, and the name of the
field. In JSON Schema it leads there from the root: `object.address.object.street`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.schema import SchemaType


@dataclass(frozen=True, slots=True)
class Entity:
    path: str
    is_record: bool

    def __str__(self) -> str:
        return f"{'record' if self.is_record else 'field'} {self.path}"


Tags = Mapping[Entity, Sequence[str]]


class TaggedText(Protocol):
    """What a format does with the tags of a text that was understood before."""

    def find(self) -> dict[Entity, list[str]]:
        """All records and fields with the tags that they have, which may be none."""

    def replace(self, tags: Tags) -> str:
        """The text with these tags instead of those that the records and fields had; the others keep theirs."""


def find_tags(schema_type: SchemaType, text: str) -> dict[Entity, list[str]]:
    return {entity: tags for entity, tags in _tagged(schema_type, text).find().items() if tags}


def change_tags(schema_type: SchemaType, text: str, added: Tags, removed: Tags) -> str:
    """InvalidSchema if there is no such record or field."""
    tagged = _tagged(schema_type, text)
    found = tagged.find()
    changed: dict[Entity, list[str]] = {}
    for entity in {**added, **removed}:
        if entity not in found:
            raise InvalidSchema(f"the schema has no {entity}")
        kept = [tag for tag in (*found[entity], *added.get(entity, ())) if tag not in removed.get(entity, ())]
        changed[entity] = list(dict.fromkeys(kept))
    return tagged.replace(changed)


def _tagged(schema_type: SchemaType, text: str) -> TaggedText:
    if schema_type is SchemaType.AVRO:
        from ottla.schemas.avro.tagged_text import TaggedAvro

        return TaggedAvro(text)
    if schema_type is SchemaType.JSON:
        from ottla.schemas.json_schema.tagged_text import TaggedJson

        return TaggedJson(text)
    from ottla.schemas.protobuf.tagged_text import TaggedProtobuf

    return TaggedProtobuf(text)
