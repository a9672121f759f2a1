"""Everything that a registry knows: what the records of `_schemas` come to, one after the other.

A state never changes. `apply` makes the next one and shares with it whatever is the same, so that requests read one
state while the next is made. Two registries that have read the same records are equal.

Invariants, in every context: an id belongs to one schema (text, references, metadata, rules), however many subjects
have it; `ids` and `guids` know exactly the versions in `versions`, softly deleted ones included; `referrers` know those
that are not deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from immutables import Map

from ottla.registry.contract_fields import WrongShape, read_config
from ottla.registry.identity import Json
from ottla.registry.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DamagedRecord,
    DeleteSubjectKey,
    ModeKey,
    NoopKey,
    Record,
    SchemaKey,
)
from ottla.registry.stored_schema import StoredSchema, read_stored_schema
from ottla.registry.subjects import DEFAULT_CONTEXT, context_of, parse_subject, qualify
from ottla.schemas.schema import SchemaType

K = TypeVar("K")
V = TypeVar("V")
_NO_VERSIONS: Map[int, StoredSchema] = Map()
_NONE: Map[Any, Any] = Map()


@dataclass(frozen=True, slots=True)
class RegistryState:
    versions: Map[str, Map[int, StoredSchema]] = _NONE
    # Which versions have an id of a context: the version of each subject.
    ids: Map[tuple[str, int], Map[str, int]] = _NONE
    # The ids that have a guid, and their types: a text may be a schema of two types, and its guid does not tell them
    # apart. Schemas that came from another registry may also have one guid under several ids.
    guids: Map[tuple[str, UUID], Map[int, SchemaType]] = _NONE
    # Who refers to a version, by subject and version, and with which id.
    referrers: Map[SchemaKey, Map[SchemaKey, int]] = _NONE
    configs: Map[str | None, Json] = _NONE
    modes: Map[str | None, str] = _NONE
    # The highest id of each context that was ever used.
    highest_ids: Map[str, int] = _NONE

    # -- questions ----------------------------------------------------------------------------------------------------

    def find(self, subject: str, version: int, *, deleted: bool = False) -> StoredSchema | None:
        found = self.versions.get(subject, _NO_VERSIONS).get(version)
        return found if found is not None and (deleted or not found.is_deleted) else None

    def all_of(self, subject: str, *, deleted: bool = False) -> list[StoredSchema]:
        """The versions of a subject, the oldest first."""
        known = self.versions.get(subject, _NO_VERSIONS)
        return [known[version] for version in sorted(known) if deleted or not known[version].is_deleted]

    def latest(self, subject: str) -> StoredSchema | None:
        alive = self.all_of(subject)
        return alive[-1] if alive else None

    def with_id(self, context: str, schema_id: int) -> StoredSchema | None:
        """Some version that has the id; the schema is the same in all of them."""
        subjects = self.ids.get((context, schema_id))
        if not subjects:
            return None
        subject = min(subjects)
        return self.versions[subject][subjects[subject]]

    def id_of(self, context: str, guid: UUID, schema_type: SchemaType) -> int | None:
        """The id of a schema; the smallest if it came from another registry under several."""
        known = self.guids.get((context, guid), _NONE)
        return min((schema_id for schema_id, one in known.items() if one is schema_type), default=None)

    @property
    def contexts(self) -> list[str]:
        return sorted({DEFAULT_CONTEXT, *(context for context in self.highest_ids)})

    def subjects(self, prefix: str = "", *, deleted: bool = False) -> Iterator[str]:
        """In order."""
        for subject in sorted(self.versions):
            if subject.startswith(prefix) and (
                deleted or any(not one.is_deleted for one in self.versions[subject].values())
            ):
                yield subject

    # -- changes ------------------------------------------------------------------------------------------------------

    def apply(self, record: Record) -> RegistryState:
        """The state after a record. DamagedRecord if its value makes no sense: then nothing has changed."""
        key, value = record.key, record.value
        if isinstance(key, SchemaKey):
            forgotten = self._without(key)
            return forgotten if value is None else forgotten._with(read_stored_schema(key, value))
        if isinstance(key, ConfigKey):
            return replace(self, configs=_changed(self.configs, key.subject, None if value is None else _config(value)))
        if isinstance(key, ModeKey):
            return replace(self, modes=_changed(self.modes, key.subject, None if value is None else _mode(value)))
        if isinstance(key, DeleteSubjectKey) and value is not None:
            return self._deleted_up_to(key.subject, value.get("version"))
        if isinstance(key, ClearSubjectKey) and value is not None:
            return self._cleared(key.subject)
        if isinstance(key, ContextKey):
            return self._with_context(key.context) if value is not None else self._without_context(key.context)
        assert isinstance(key, NoopKey | DeleteSubjectKey | ClearSubjectKey)
        return self

    def _with(self, stored: StoredSchema) -> RegistryState:
        context = context_of(stored.subject)
        by_id, by_guid = (context, stored.id), (context, stored.guid)
        referrers = self.referrers
        if not stored.is_deleted:
            for target in references_of(stored):
                referrers = referrers.set(target, referrers.get(target, _NONE).set(stored.key, stored.id))
        return replace(
            self,
            versions=self.versions.set(
                stored.subject, self.versions.get(stored.subject, _NO_VERSIONS).set(stored.version, stored)
            ),
            ids=self.ids.set(by_id, self.ids.get(by_id, _NONE).set(stored.subject, stored.version)),
            guids=self.guids.set(by_guid, self.guids.get(by_guid, _NONE).set(stored.id, stored.schema.type)),
            referrers=referrers,
            highest_ids=self.highest_ids.set(context, max(stored.id, self.highest_ids.get(context, 0))),
        )

    def _without(self, key: SchemaKey) -> RegistryState:
        stored = self.versions.get(key.subject, _NO_VERSIONS).get(key.version)
        if stored is None:
            return self
        context = context_of(key.subject)
        by_id, by_guid = (context, stored.id), (context, stored.guid)
        left = self._subjects_with_id_without(by_id, key)
        referrers = self.referrers
        for target in references_of(stored):
            referrers = _changed(referrers, target, _changed(referrers.get(target, _NONE), key, None) or None)
        return replace(
            self,
            versions=_changed(self.versions, key.subject, self.versions[key.subject].delete(key.version) or None),
            ids=_changed(self.ids, by_id, left or None),
            guids=self.guids
            if left
            else _changed(self.guids, by_guid, _changed(self.guids[by_guid], stored.id, None) or None),
            referrers=referrers,
        )

    def _subjects_with_id_without(self, by_id: tuple[str, int], key: SchemaKey) -> Map[str, int]:
        """A subject may have one id in several versions, if all but one are deleted."""
        subjects = self.ids.get(by_id, _NONE)
        if subjects.get(key.subject) != key.version:
            return subjects
        others = [
            version
            for version, one in self.versions[key.subject].items()
            if one.id == by_id[1] and version != key.version
        ]
        return subjects.set(key.subject, max(others)) if others else subjects.delete(key.subject)

    def _with_context(self, context: str) -> RegistryState:
        known = context in self.highest_ids
        return self if known else replace(self, highest_ids=self.highest_ids.set(context, 0))

    def _without_context(self, context: str) -> RegistryState:
        """A context that has subjects stays, whatever a record says."""
        has_subjects = any(context_of(subject) == context for subject in self.versions)
        return self if has_subjects else replace(self, highest_ids=_changed(self.highest_ids, context, None))

    def _deleted_up_to(self, subject: str, version: Any) -> RegistryState:
        if type(version) is not int:
            raise DamagedRecord(f"subject {subject} is deleted up to version {version!r}")
        state = self
        for stored in self.all_of(subject):
            if stored.version <= version:
                state = state._without(stored.key)._with(replace(stored, is_deleted=True))
        return state

    def _cleared(self, scope: str | None) -> RegistryState:
        state = self
        for subject in list(self.versions):
            if scope in (None, subject, parse_subject(subject).whole_context):
                for stored in self.all_of(subject, deleted=True):
                    state = state._without(stored.key) if stored.is_deleted else state
        return state


def references_of(stored: StoredSchema) -> list[SchemaKey]:
    """The versions to which a schema refers, by their qualified subjects."""
    return [SchemaKey(qualify(one.subject, stored.subject), one.version) for one in stored.schema.references]


def _config(value: Json) -> Json:
    try:
        return read_config(value)
    except WrongShape as error:
        raise DamagedRecord(str(error)) from None


def _mode(value: Json) -> str:
    mode = value.get("mode")
    if not isinstance(mode, str):
        raise DamagedRecord(f"a mode that is {mode!r}")
    return mode


def _changed(mapping: Map[K, V], key: K, value: V | None) -> Map[K, V]:
    if value is not None:
        return mapping.set(key, value)
    return mapping.delete(key) if key in mapping else mapping
