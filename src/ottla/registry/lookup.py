"""Finds the version of a subject that has a schema, as clients ask before they register one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ottla.registry.errors import schema_not_found, subject_not_found
from ottla.registry.identity import Json, schema_guid
from ottla.registry.metadata_rules import VERSION_PROPERTY, inherit
from ottla.registry.queries import in_contexts
from ottla.registry.registration import Parse, Registration, read_schema, write_schema
from ottla.registry.scopes import Defaults, config_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.errors import SchemaError
from ottla.schemas.schema import SchemaType

_RESOLVED: Final = "resolved"


def look_up(
    state: RegistryState, asked: Registration, *, deleted: bool, defaults: Defaults, parse: Parse
) -> StoredSchema:
    """The version with the schema as it is; else the one that a registration would find, with what it inherits; else
    one that only has a number of its own, or refers to what this one has in itself.

    A subject that is not qualified is looked for in all contexts.
    """
    if asked.schema.text.strip():
        others = [one for one in in_contexts(state, asked.subject) if one != asked.subject and one in state.versions]
        for subject in (asked.subject, *others):
            found = _look_up(state, replace(asked, subject=subject), deleted=deleted, defaults=defaults, parse=parse)
            if found is not None:
                return found
    raise schema_not_found() if state.all_of(asked.subject, deleted=deleted) else subject_not_found(asked.subject)


def _look_up(
    state: RegistryState, asked: Registration, *, deleted: bool, defaults: Defaults, parse: Parse
) -> StoredSchema | None:
    parsed = read_schema(asked, parse, is_new=False)
    exact = replace(asked, schema=replace(asked.schema, text=write_schema(asked, parsed)))
    latest = state.latest(asked.subject)
    before = (None, None) if latest is None else (latest.metadata, latest.rule_set)
    config = config_in_scope(state, asked.subject, defaults)
    metadata, rule_set = inherit(config, asked.metadata, asked.rule_set, before)
    versions = state.all_of(asked.subject, deleted=deleted)[::-1]
    for wanted in (exact, replace(exact, metadata=metadata, rule_set=rule_set)):
        guid = schema_guid(wanted.schema, wanted.metadata, wanted.rule_set)
        for one in versions:
            if one.guid == guid and one.schema.type is wanted.schema.type:
                return one
    return next(_alike(versions, exact, parse), None)


def _alike(versions: list[StoredSchema], wanted: Registration, parse: Parse) -> Iterator[StoredSchema]:
    for one in versions:
        if (_without_version(one.metadata), one.rule_set) != (_without_version(wanted.metadata), wanted.rule_set):
            continue
        if one.schema == wanted.schema or _resolves_to(one, wanted, parse):
            yield one


def _without_version(metadata: Json | None) -> Json | None:
    """Metadata that had nothing but the number count as none."""
    properties = {
        name: one for name, one in ((metadata or {}).get("properties") or {}).items() if name != VERSION_PROPERTY
    }
    left = {**(metadata or {}), "properties": properties}
    return {name: one for name, one in left.items() if one} or None


def _resolves_to(stored: StoredSchema, wanted: Registration, parse: Parse) -> bool:
    """Whether the schema that was asked for has in itself what the stored one refers to, as Avro's clients send it."""
    if not stored.schema.references or wanted.schema.references:
        return False
    if not stored.schema.type is wanted.schema.type is SchemaType.AVRO:
        return False
    try:
        return parse(stored.subject, stored.schema, False).formatted(_RESOLVED) == wanted.schema.text
    except SchemaError:
        return False
