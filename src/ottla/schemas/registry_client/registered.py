"""A schema as a registry has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ottla.schemas.registry_client.errors import UnexpectedAnswer
from ottla.schemas.schema import Reference, Schema, SchemaType


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """Subject and version are None where a schema was asked for by its id or guid alone."""

    schema: Schema
    id: int | None = None
    guid: UUID | None = None
    subject: str | None = None
    version: int | None = None
    metadata: Mapping[str, Any] | None = None
    rule_set: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        known = (
            None if self.subject is None else f"version {self.version} of {self.subject}",
            None if self.id is None else f"id {self.id}",
            None if self.id is not None or self.guid is None else f"guid {self.guid}",
        )
        return f"{self.schema.type} schema ({', '.join(filter(None, known))})"


def read_registered(fields: Any, schema_id: int | None = None) -> RegisteredSchema:
    """From a registry's answer; `schema_id` is what was asked for, where the answer does not repeat it."""
    try:
        references = tuple(
            Reference(str(one["name"]), str(one["subject"]), int(one["version"]))
            for one in fields.get("references") or ()
        )
        text = fields["schema"]
        if not isinstance(text, str):
            raise TypeError(f"the schema is {text!r:.100}")
        guid = fields.get("guid")
        return RegisteredSchema(
            Schema(text, SchemaType(fields.get("schemaType") or SchemaType.AVRO), references),
            _number(fields.get("id", schema_id)),
            None if guid is None else UUID(guid),
            fields.get("subject"),
            _number(fields.get("version")),
            fields.get("metadata"),
            fields.get("ruleSet"),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"the registry's answer is no schema: {error!r}") from None


def _number(given: Any) -> int | None:
    return None if given is None else int(given)


def schema_fields(schema: Schema) -> dict[str, Any]:
    """As requests carry it."""
    fields: dict[str, Any] = {"schema": schema.text, "schemaType": str(schema.type)}
    if schema.references:
        fields["references"] = [
            {"name": one.name, "subject": one.subject, "version": one.version} for one in schema.references
        ]
    return fields
