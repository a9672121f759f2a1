"""How a stored schema is shown: its text in the form that is asked for, its references, its tags."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ottla.registry.errors import invalid_schema
from ottla.registry.rest.bodies import ENTITY_TYPES
from ottla.registry.rest.call import Call
from ottla.registry.rest.parameters import FIND_TAGS, FORMAT, REFERENCE_FORMAT
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import qualify
from ottla.schemas.errors import SchemaError
from ottla.schemas.tagging import find_tags

_QUALIFIED: Final = "qualified"
_ALL_TAGS: Final = "*"


async def show_version(call: Call, stored: StoredSchema) -> dict[str, Any]:
    """As it is answered to whoever asks for a version."""
    fields = stored.to_json()
    if FORMAT in call.parameters:
        fields["schema"] = await format_text(call, stored)
    if REFERENCE_FORMAT in call.parameters and call.text(REFERENCE_FORMAT).lower() == _QUALIFIED:
        for reference in fields.get("references", ()):
            reference["subject"] = qualify(reference["subject"], stored.subject)
    if FIND_TAGS in call.parameters:
        wanted = call.texts(FIND_TAGS)
        if wanted:
            fields["schemaTags"] = await asyncio.to_thread(_tags, stored, wanted)
    return fields


async def show_schema(call: Call, stored: StoredSchema) -> dict[str, Any]:
    """Without its subject, as it is answered to whoever asks for an id."""
    fields = await show_version(call, stored)
    return {name: value for name, value in fields.items() if name not in ("subject", "version", "id")}


async def format_text(call: Call, stored: StoredSchema) -> str:
    form = call.text(FORMAT)
    return await asyncio.to_thread(_formatted, call, stored, form) if form else stored.schema.text


def _tags(stored: StoredSchema, wanted: list[str]) -> list[dict[str, Any]]:
    return [
        {"schemaEntity": {"entityPath": entity.path, "entityType": ENTITY_TYPES[entity.is_record]}, "tags": tags}
        for entity, tags in find_tags(stored.schema.type, stored.schema.text).items()
        if _ALL_TAGS in wanted or not set(wanted).isdisjoint(tags)
    ]


def _formatted(call: Call, stored: StoredSchema, form: str) -> str:
    try:
        return call.registry.parser(call.state)(stored.subject, stored.schema, False).formatted(form)
    except SchemaError as error:
        raise invalid_schema(f"The schema cannot be shown as {form}: {error}") from error
