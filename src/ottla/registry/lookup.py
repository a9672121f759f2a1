"""Finds the version of a subject that has a schema, as clients ask before they register one."""

from __future__ import annotations

from dataclasses import replace

from ottla.registry.errors import invalid_schema, schema_not_found, subject_not_found
from ottla.registry.identity import schema_guid
from ottla.registry.metadata_rules import inherit
from ottla.registry.registration import Parse, Registration
from ottla.registry.scopes import Defaults, config_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.errors import SchemaError


def look_up(
    state: RegistryState, asked: Registration, *, deleted: bool, defaults: Defaults, parse: Parse
) -> StoredSchema:
    """The version with the schema as it is; else the one that a registration would find, with what it inherits."""
    subject = asked.subject
    if not state.all_of(subject, deleted=deleted):
        raise subject_not_found(subject)
    try:
        parsed = parse(subject, asked.schema, False)
    except SchemaError as error:
        raise invalid_schema(f"Invalid schema of type {asked.schema.type}, details: {error}") from error
    text = parsed.normalised() if asked.normalises else parsed.canonical
    exact = replace(asked, schema=replace(asked.schema, text=text))
    latest = state.latest(subject)
    before = (None, None) if latest is None else (latest.metadata, latest.rule_set)
    metadata, rule_set = inherit(config_in_scope(state, subject, defaults), asked.metadata, asked.rule_set, before)
    for wanted in (exact, replace(exact, metadata=metadata, rule_set=rule_set)):
        found = _find(state, wanted, deleted=deleted)
        if found is not None:
            return found
    raise schema_not_found()


def _find(state: RegistryState, wanted: Registration, *, deleted: bool) -> StoredSchema | None:
    guid = schema_guid(wanted.schema, wanted.metadata, wanted.rule_set)
    for one in reversed(state.all_of(wanted.subject, deleted=deleted)):
        if one.guid == guid and one.schema.type is wanted.schema.type:
            return one
    return None
