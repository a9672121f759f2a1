"""What can be asked of a registry without changing it.

A subject that is not qualified is looked for in the default context first, then in the others, as far as schemas are
concerned: records say which schema they have by its id alone, and their readers need not know of contexts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final
from uuid import UUID

from ottla.registry.errors import invalid_version, schema_not_found, subject_not_found, version_not_found
from ottla.registry.identity import KINDS_OF_RULES, Json
from ottla.registry.state import RegistryState, references_of
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import ALL_CONTEXTS, DEFAULT_CONTEXT, Subject, check_subject, parse_subject, qualify

LATEST: Final = -1
_VERSION_MAX: Final = 2**31 - 1


class Shown(Enum):
    """Which versions count."""

    ALIVE = auto()
    ALL = auto()
    DELETED = auto()

    @staticmethod
    def of(*, deleted: bool, deleted_only: bool) -> Shown:
        if deleted_only:
            return Shown.DELETED
        return Shown.ALL if deleted else Shown.ALIVE

    def shows(self, stored: StoredSchema) -> bool:
        return self is Shown.ALL or stored.is_deleted is (self is Shown.DELETED)


def read_version(text: str) -> int:
    """A version as a request names it; LATEST for `latest` and -1."""
    if text in ("latest", str(LATEST)):
        return LATEST
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:11]) <= _VERSION_MAX:
        raise invalid_version(text)
    return int(text)


def resolve_alias(state: RegistryState, subject: str) -> str:
    """The subject that is meant by one that has an alias in its settings."""
    alias = state.configs.get(subject, {}).get("alias")
    return subject if not isinstance(alias, str) or not alias else check_subject(qualify(alias, subject))


# -- subjects and their versions --------------------------------------------------------------------------------------


def list_subjects(state: RegistryState, prefix: str, shown: Shown) -> list[str]:
    """Subjects with this prefix; `:*:` before it means those of all contexts."""
    found = []
    for subject in _with_prefix(state, prefix):
        versions = state.versions[subject].values()
        all_deleted = all(one.is_deleted for one in versions)
        if shown is Shown.ALL or all_deleted is (shown is Shown.DELETED):
            found.append(subject)
    return found


def list_versions(state: RegistryState, subject: str, shown: Shown) -> list[StoredSchema]:
    found = [one for one in state.all_of(subject, deleted=True) if shown.shows(one)]
    if not found:
        raise subject_not_found(subject)
    return found


def find_version(state: RegistryState, subject: str, version: int, *, deleted: bool = False) -> StoredSchema:
    for candidate in in_contexts(state, subject):
        found = state.latest(candidate) if version == LATEST else state.find(candidate, version, deleted=deleted)
        if found is not None:
            return found
    if not state.all_of(subject, deleted=deleted):
        raise subject_not_found(subject)
    raise version_not_found(version)


def find_with_properties(state: RegistryState, subject: str, wanted: Json, *, deleted: bool) -> StoredSchema:
    """The newest version whose metadata have these properties."""
    versions = state.all_of(subject, deleted=deleted)
    if not versions:
        raise subject_not_found(subject)
    for one in reversed(versions):
        properties = (one.metadata or {}).get("properties") or {}
        if wanted and wanted.items() <= properties.items():
            return one
    raise schema_not_found()


def list_referrers(state: RegistryState, stored: StoredSchema, *, deleted: bool = False) -> list[int]:
    """The ids of schemas that refer to a version."""
    if deleted:
        everything = (one for versions in state.versions.values() for one in versions.values())
        return sorted({one.id for one in everything if stored.key in references_of(one)})
    return sorted(set(state.referrers.get(stored.key, {}).values()))


# -- schemas ----------------------------------------------------------------------------------------------------------


def find_id(state: RegistryState, schema_id: int, subject: str | None = None) -> StoredSchema:
    """The schema with an id. A subject says which context is meant; if it is not qualified, one that has the id in any
    context is better than another one."""
    meant = Subject(DEFAULT_CONTEXT, "") if subject is None else parse_subject(subject)
    if meant.name:
        for candidate in in_contexts(state, str(meant)):
            versions = state.ids.get((parse_subject(candidate).context, schema_id))
            if versions is not None and candidate in versions:
                return state.versions[candidate][versions[candidate]]
    found = state.with_id(meant.context, schema_id)
    if found is None:
        raise schema_not_found(schema_id)
    return found


def list_versions_of_id(
    state: RegistryState, schema_id: int, subject: str | None = None, *, deleted: bool = False
) -> list[StoredSchema]:
    context = parse_subject(find_id(state, schema_id, subject).subject).context
    versions = state.ids[context, schema_id]
    found = (state.versions[one][versions[one]] for one in sorted(versions))
    return [one for one in found if deleted or not one.is_deleted]


def find_guid(state: RegistryState, guid: str) -> StoredSchema:
    ids = list_ids_of_guid(state, guid)
    found = state.with_id(ids[0].context, ids[0].id) if ids else None
    if found is None:
        raise schema_not_found(guid)
    return found


@dataclass(frozen=True, slots=True)
class ContextId:
    context: str
    id: int


def list_ids_of_guid(state: RegistryState, guid: str) -> list[ContextId]:
    try:
        wanted = UUID(guid)
    except ValueError:
        raise schema_not_found(guid) from None
    return [
        ContextId(context, schema_id)
        for context in state.contexts
        for schema_id in sorted(state.guids.get((context, wanted), ()))
    ]


def list_aliases(state: RegistryState, prefix: str) -> dict[str, list[str]]:
    """The aliases with a prefix, by the subject that they stand for."""
    found: dict[str, list[str]] = {}
    for name in sorted(one for one in state.configs if one is not None and _has_prefix(one, prefix)):
        subject = resolve_alias(state, name)
        if subject != name:
            found.setdefault(subject, []).append(name)
    return found


def search_schemas(
    state: RegistryState,
    prefix: str,
    shown: Shown,
    *,
    latest_only: bool,
    rule_type: str | None,
    aliased: Collection[str] = (),
) -> list[StoredSchema]:
    """Versions of all subjects with a prefix, and of those that are named; with a type of rule, those that have one of
    it."""
    found: list[StoredSchema] = []
    for subject in sorted({*_with_prefix(state, prefix), *aliased}):
        versions = [one for one in state.all_of(subject, deleted=True) if shown.shows(one)]
        found += versions[-1:] if latest_only else versions
    return found if not rule_type else [one for one in found if _has_rule(one, rule_type)]


# -- inside -----------------------------------------------------------------------------------------------------------


def in_contexts(state: RegistryState, subject: str) -> Iterator[str]:
    """The subject, and if it is not qualified, the same name in other contexts."""
    yield subject
    meant = parse_subject(subject)
    if meant.context == DEFAULT_CONTEXT:
        yield from (str(Subject(context, meant.name)) for context in state.contexts if context != DEFAULT_CONTEXT)


def _with_prefix(state: RegistryState, prefix: str) -> Iterator[str]:
    return (one for one in state.subjects(deleted=True) if _has_prefix(one, prefix))


def _has_prefix(subject: str, prefix: str) -> bool:
    if prefix.startswith(ALL_CONTEXTS):
        return parse_subject(subject).name.startswith(prefix.removeprefix(ALL_CONTEXTS))
    return subject.startswith(prefix)


def _has_rule(stored: StoredSchema, rule_type: str) -> bool:
    rules = (rule for kind in KINDS_OF_RULES for rule in (stored.rule_set or {}).get(kind) or ())
    return any(rule.get("type") == rule_type for rule in rules)
