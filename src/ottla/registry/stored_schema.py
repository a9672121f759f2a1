"""A version of a subject, as its record has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from ottla.registry.contract_fields import WrongShape, read_metadata, read_rule_set
from ottla.registry.identity import Json, schema_guid
from ottla.registry.records import DamagedRecord, Record, SchemaKey
from ottla.schemas.schema import Reference, Schema, SchemaType

_SHOWN_MAX: Final = 100
_VERSION_MAX: Final = 2**31 - 1
_KNOWN: Final = frozenset(
    ("subject", "version", "id", "guid", "schemaType", "references", "metadata", "ruleSet", "schema", "deleted")
)


@dataclass(frozen=True)
class StoredSchema:
    subject: str
    version: int
    id: int
    schema: Schema
    metadata: Json | None = None
    rule_set: Json | None = None
    is_deleted: bool = False
    # Fields of the record that this release does not know.
    unknown: Json = field(default_factory=dict)

    @cached_property
    def guid(self) -> UUID:
        return schema_guid(self.schema, self.metadata, self.rule_set)

    @property
    def key(self) -> SchemaKey:
        return SchemaKey(self.subject, self.version)

    def to_record(self) -> Record:
        return Record(self.key, self.to_json() | {"deleted": self.is_deleted, **self.unknown})

    def to_json(self) -> dict[str, Any]:
        """As requests are answered: what is absent is left out, and so is the type of Avro."""
        fields: dict[str, Any] = {
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            "guid": str(self.guid),
        }
        if self.schema.type is not SchemaType.AVRO:
            fields["schemaType"] = str(self.schema.type)
        if self.schema.references:
            fields["references"] = [
                {"name": one.name, "subject": one.subject, "version": one.version} for one in self.schema.references
            ]
        if self.metadata is not None:
            fields["metadata"] = self.metadata
        if self.rule_set is not None:
            fields["ruleSet"] = self.rule_set
        return fields | {"schema": self.schema.text}


def read_stored_schema(key: SchemaKey, value: Json) -> StoredSchema:
    """DamagedRecord if the value is not one of a schema."""
    schema_id, text = value.get("id"), value.get("schema")
    if type(schema_id) is not int or schema_id < 0 or not isinstance(text, str):
        raise DamagedRecord(f"version {key.version} of {key.subject} has id {schema_id!r} and a schema that is no text")
    try:
        schema_type = SchemaType(value.get("schemaType") or SchemaType.AVRO)
    except ValueError:
        raise DamagedRecord(
            f"version {key.version} of {key.subject} has the unknown type {value['schemaType']!r}"
        ) from None
    try:
        stored = StoredSchema(
            key.subject,
            key.version,
            schema_id,
            Schema(text, schema_type, read_references(value.get("references"))),
            metadata=read_metadata(value.get("metadata")),
            rule_set=read_rule_set(value.get("ruleSet")),
            is_deleted=value.get("deleted") is True,
            unknown={name: value[name] for name in value if name not in _KNOWN},
        )
    except WrongShape as error:
        raise DamagedRecord(f"version {key.version} of {key.subject}: {error}") from None
    try:
        assert stored.guid is not None
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise DamagedRecord(
            f"version {key.version} of {key.subject} has metadata, rules or references that have no digest: {error}"
        ) from None
    return stored


def read_references(given: Any) -> tuple[Reference, ...]:
    """WrongShape if they are not references."""
    if given is None:
        return ()
    if not isinstance(given, list):
        raise WrongShape("references are no list")
    return tuple(map(_reference, given))


def _reference(given: Any) -> Reference:
    fields = given if isinstance(given, dict) else {}
    name, subject, version = (fields.get(field) for field in ("name", "subject", "version"))
    if not isinstance(name, str) or not isinstance(subject, str) or type(version) is not int:
        raise WrongShape(f"a reference has a name, a subject and the number of a version, not {_shorten(given)}")
    if not -1 <= version <= _VERSION_MAX:
        raise WrongShape(f"a reference has version {_shorten(version)}, which no subject can have")
    return Reference(name, subject, version)


def _shorten(given: Any) -> str:
    return repr(given)[:_SHOWN_MAX]
