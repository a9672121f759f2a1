"""Registers a schema as the next version of a subject, unless it is there already.

The same schema has one id in all subjects of a context, and keeps it while a version that has it is only softly
deleted. Versions count from 1 and are not used again before they are deleted for good. In the modes that take schemas
of another registry, ids and versions are given, and nothing is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ottla.registry.change import Change
from ottla.registry.conflicts import describe_conflicts
from ottla.registry.errors import incompatible_schema, invalid_schema, not_permitted
from ottla.registry.identity import Json, schema_guid
from ottla.registry.metadata_rules import VERSION_PROPERTY, check_rules, inherit, with_version
from ottla.registry.records import Record, context_record
from ottla.registry.scopes import Defaults, Mode, config_in_scope, level_in_scope, mode_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import DEFAULT_CONTEXT, context_of
from ottla.schemas.compatibility import CompatibilityLevel, Conflict, find_conflicts
from ottla.schemas.errors import SchemaError
from ottla.schemas.finding import Finding
from ottla.schemas.format import ParsedSchema
from ottla.schemas.schema import Schema

# Reads a schema of a subject with all that it refers to; the flag says whether it is new. Raises SchemaError.
Parse = Callable[[str, Schema, bool], ParsedSchema]


@dataclass(frozen=True, slots=True)
class Registration:
    """What a client asks to register. Without a text it is the text of the version before."""

    subject: str
    schema: Schema
    metadata: Json | None = None
    rule_set: Json | None = None
    # Given if the schema comes from another registry.
    id: int | None = None
    # The version that it must become; None is the next one, -1 the next one with its number in the metadata.
    version: int | None = None
    normalises: bool = False


@dataclass(frozen=True, slots=True)
class Registered:
    stored: StoredSchema
    # Whether it has metadata, rules or a text that the client did not send.
    is_completed: bool


def register_schema(
    state: RegistryState, asked: Registration, *, defaults: Defaults, parse: Parse
) -> Change[Registered]:
    subject = asked.subject
    mode = mode_in_scope(state, subject)
    _check_mode(asked, mode)
    check_rules(asked.rule_set)
    known = state.all_of(subject, deleted=True)
    next_version = next_version_of(state, subject)
    alive = [one for one in known if not one.is_deleted]
    completed = asked if mode is Mode.IMPORT else _complete(state, asked, alive, next_version, defaults)
    is_completed = completed is not asked
    parsed = read_schema(completed, parse, is_new=completed.id is None)
    schema = replace(completed.schema, text=write_schema(asked, parsed))
    context = context_of(subject)
    schema_id = asked.id
    same_id = state.id_of(context, schema_guid(schema, completed.metadata, completed.rule_set), schema.type)
    if same_id is not None and schema_id in (None, same_id):
        version = state.ids[context, same_id].get(subject)
        existing = None if version is None else state.find(subject, version)
        if existing is not None and asked.version is None:
            return Change((), Registered(existing, is_completed))
        schema_id = same_id
    if not mode.takes_ids:
        _check_compatible(state, completed, parsed, defaults, parse)
    stored = StoredSchema(
        subject,
        _version(asked, next_version, mode),
        _checked_id(state, context, schema_id, schema, completed),
        schema,
        completed.metadata,
        completed.rule_set,
    )
    return Change(_records(state, context, known, stored), Registered(stored, is_completed))


def next_version_of(state: RegistryState, subject: str) -> int:
    known = state.all_of(subject, deleted=True)
    return known[-1].version + 1 if known else 1


def _check_mode(asked: Registration, mode: Mode) -> None:
    where = f"Subject {asked.subject} in context {context_of(asked.subject)}"
    if mode.is_read_only:
        raise not_permitted(f"{where} is in read-only mode")
    if asked.id is not None and not mode.takes_ids:
        raise not_permitted(f"{where} is not in import mode")
    if asked.id is None and mode is not Mode.READWRITE:
        raise not_permitted(f"{where} is not in read-write mode")


def _complete(
    state: RegistryState, asked: Registration, alive: list[StoredSchema], next_version: int, defaults: Defaults
) -> Registration:
    """What is asked with what it inherits; the very same object if it inherits nothing."""
    before = alive[-1] if alive else None
    schema = asked.schema
    if not schema.text.strip():
        if before is None:
            raise invalid_schema("Empty schema")
        schema = before.schema
    inherited = (None, None) if before is None else (before.metadata, before.rule_set)
    config = config_in_scope(state, asked.subject, defaults)
    metadata, rule_set = inherit(config, asked.metadata, asked.rule_set, inherited)
    if asked.version is not None or VERSION_PROPERTY in ((metadata or {}).get("properties") or {}):
        metadata = with_version(metadata, next_version)
    if (schema, metadata, rule_set) == (asked.schema, asked.metadata, asked.rule_set):
        return asked
    return replace(asked, schema=schema, metadata=metadata, rule_set=rule_set)


def read_schema(asked: Registration, parse: Parse, *, is_new: bool) -> ParsedSchema:
    """RegistryError for what is no schema."""
    if not asked.schema.text.strip():
        raise invalid_schema("Empty schema")
    try:
        return parse(asked.subject, asked.schema, is_new)
    except SchemaError as error:
        raise invalid_schema(f"Invalid schema of type {asked.schema.type}, details: {error}") from error


def write_schema(asked: Registration, parsed: ParsedSchema) -> str:
    """The text as it is stored."""
    try:
        return parsed.normalised() if asked.normalises else parsed.canonical
    except SchemaError as error:
        raise invalid_schema(f"Invalid schema of type {asked.schema.type}, details: {error}") from error


def _check_compatible(
    state: RegistryState, completed: Registration, parsed: ParsedSchema, defaults: Defaults, parse: Parse
) -> None:
    conflicts = find_conflicts_of(state, completed, parsed, state.all_of(completed.subject), defaults, parse)
    if conflicts:
        level = level_in_scope(state, completed.subject, defaults)
        told = describe_conflicts(conflicts, next_version_of(state, completed.subject))
        details = ", ".join([*told, f"{{compatibility: '{level}'}}"])
        raise incompatible_schema(completed.subject, f"[{details}]")


def find_conflicts_of(
    state: RegistryState,
    asked: Registration,
    parsed: ParsedSchema,
    versions: list[StoredSchema],
    defaults: Defaults,
    parse: Parse,
) -> list[Conflict]:
    """What keeps a schema from following versions of its subject, under the level that holds there.

    With a compatibility group, which is a property of the metadata, only versions with the same value of it count.
    """
    level = level_in_scope(state, asked.subject, defaults)
    group = config_in_scope(state, asked.subject, defaults).get("compatibilityGroup")
    counted = [one for one in versions if group is None or _property(one, group) == _property(asked, group)]
    counted = counted if level.is_transitive else counted[-1:]
    other_types = [one for one in counted if one.schema.type is not asked.schema.type]
    if level is CompatibilityLevel.NONE:
        return []
    if other_types:
        return [_type_changed(one, asked) for one in reversed(other_types)]
    try:
        comparable = {one.version: parse(one.subject, one.schema, False) for one in counted}
        return find_conflicts(parsed, comparable, level)
    except SchemaError as error:
        raise invalid_schema(f"It cannot be compared with the versions of {asked.subject}: {error}") from error


def _property(of: StoredSchema | Registration, name: str) -> object:
    return ((of.metadata or {}).get("properties") or {}).get(name)


def _type_changed(old: StoredSchema, asked: Registration) -> Conflict:
    detail = f"{old.schema.type} became {asked.schema.type}"
    return Conflict(old.version, Finding("SCHEMA_TYPE_CHANGED", "", detail), is_backward=True)


def _version(asked: Registration, next_version: int, mode: Mode) -> int:
    if asked.version is None or asked.version <= 0:
        return next_version
    if asked.version != next_version and not mode.takes_ids:
        raise invalid_schema("Version is not one more than previous version")
    return asked.version


def _checked_id(
    state: RegistryState, context: str, schema_id: int | None, schema: Schema, completed: Registration
) -> int:
    if schema_id is None:
        return state.highest_ids.get(context, 0) + 1
    other = state.with_id(context, schema_id)
    if other is not None and (other.schema, other.metadata, other.rule_set) != (
        schema,
        completed.metadata,
        completed.rule_set,
    ):
        raise not_permitted(f"Overwrite new schema with id {schema_id} in context {context} is not permitted.")
    return schema_id


def _records(state: RegistryState, context: str, known: list[StoredSchema], stored: StoredSchema) -> tuple[Record, ...]:
    records: list[Record] = []
    if context != DEFAULT_CONTEXT and context not in state.highest_ids:
        records.append(context_record(context))
    # A subject has an id once: the new version takes the place of deleted ones.
    records += [
        Record(one.key, None)
        for one in known
        if one.is_deleted and one.id == stored.id and one.version < stored.version
    ]
    return (*records, stored.to_record())
