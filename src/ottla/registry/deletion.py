"""Deletes versions and subjects: softly first, then for good.

What is deleted softly is not offered any more, and records that were written with it can still be read, since its id
stays. What others refer to cannot be deleted. A subject without versions loses its settings.
"""

from __future__ import annotations

from ottla.registry.change import Change
from ottla.registry.errors import (
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from ottla.registry.records import ConfigKey, DeleteSubjectKey, ModeKey, Record
from ottla.registry.scopes import mode_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema


def delete_subject(state: RegistryState, subject: str, *, is_permanent: bool) -> Change[list[int]]:
    """The versions that it had are the answer."""
    _check_writable(state, subject)
    known = state.all_of(subject, deleted=True)
    alive = [one for one in known if not one.is_deleted]
    if not known:
        raise subject_not_found(subject)
    if not is_permanent and not alive:
        raise subject_soft_deleted(subject)
    if is_permanent and alive:
        raise subject_not_soft_deleted(subject)
    doomed = known if is_permanent else alive
    for one in doomed:
        _check_unreferenced(state, one)
    versions = [one.version for one in doomed]
    if is_permanent:
        return Change(tuple(Record(one.key, None) for one in doomed), versions)
    deleted = Record(DeleteSubjectKey(subject), {"subject": subject, "version": versions[-1]})
    return Change((deleted, *_settings(state, subject)), versions)


def delete_version(state: RegistryState, subject: str, version: int, *, is_permanent: bool) -> Change[int]:
    _check_writable(state, subject)
    if not state.all_of(subject, deleted=True):
        raise subject_not_found(subject)
    stored = state.find(subject, version, deleted=True)
    if stored is None:
        raise version_not_found(version)
    _check_unreferenced(state, stored)
    if is_permanent:
        if not stored.is_deleted:
            raise version_not_soft_deleted(subject, version)
        return Change((Record(stored.key, None),), version)
    if stored.is_deleted:
        raise version_soft_deleted(subject, version)
    value = stored.to_record().value
    assert value is not None
    is_last = len(state.all_of(subject)) == 1
    return Change(
        (Record(stored.key, {**value, "deleted": True}), *(_settings(state, subject) if is_last else ())), version
    )


def _check_writable(state: RegistryState, subject: str) -> None:
    if mode_in_scope(state, subject).is_read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")


def _check_unreferenced(state: RegistryState, stored: StoredSchema) -> None:
    if state.referrers.get(stored.key):
        raise reference_exists(stored.subject, stored.version)


def _settings(state: RegistryState, subject: str) -> tuple[Record, ...]:
    """The records that take a subject's own settings away."""
    modes = (Record(ModeKey(subject), None),) if subject in state.modes else ()
    configs = (Record(ConfigKey(subject), None),) if subject in state.configs else ()
    return (*modes, *configs)
