"""Deletes versions and subjects: softly first, then for good; and contexts that are empty.

What is deleted softly is not offered any more, and records that were written with it can still be read, since its id
stays. What others refer to cannot be deleted. A subject keeps its settings until its last version is gone for good.
"""

from __future__ import annotations

from ottla.registry.change import Change
from ottla.registry.errors import (
    context_not_empty,
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from ottla.registry.queries import LATEST
from ottla.registry.records import ConfigKey, ContextKey, DeleteSubjectKey, ModeKey, Record
from ottla.registry.scopes import mode_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import DEFAULT_CONTEXT, Subject, context_of


def delete_subject(state: RegistryState, subject: str, *, is_permanent: bool) -> Change[list[int]]:
    """The versions that it had are the answer."""
    known = state.all_of(subject, deleted=True)
    alive = [one for one in known if not one.is_deleted]
    if not known:
        raise subject_not_found(subject)
    if not is_permanent and not alive:
        raise subject_soft_deleted(subject)
    _check_writable(state, subject)
    doomed = known if is_permanent else alive
    for one in doomed:
        _check_unreferenced(state, one)
    if is_permanent and alive:
        raise subject_not_soft_deleted(subject)
    versions = [one.version for one in doomed]
    if is_permanent:
        return Change((*(Record(one.key, None) for one in doomed), *_settings(state, subject)), versions)
    return Change((Record(DeleteSubjectKey(subject), {"subject": subject, "version": versions[-1]}),), versions)


def delete_version(state: RegistryState, subject: str, version: int, *, is_permanent: bool) -> Change[int]:
    """LATEST is the newest that is not deleted."""
    known = state.all_of(subject, deleted=True)
    if not known:
        raise subject_not_found(subject)
    stored = state.latest(subject) if version == LATEST else state.find(subject, version, deleted=True)
    if stored is None:
        raise version_not_found(version)
    if stored.is_deleted and not is_permanent:
        raise version_soft_deleted(subject, version)
    _check_writable(state, subject)
    _check_unreferenced(state, stored)
    if is_permanent:
        if not stored.is_deleted:
            raise version_not_soft_deleted(subject, stored.version)
        settings = _settings(state, subject) if len(known) == 1 else ()
        return Change((Record(stored.key, None), *settings), stored.version)
    value = stored.to_record().value
    assert value is not None
    return Change((Record(stored.key, {**value, "deleted": True}),), stored.version)


def delete_context(state: RegistryState, context: str) -> Change[None]:
    whole_context = Subject(context, "").whole_context
    if context == DEFAULT_CONTEXT:
        raise not_permitted("The default context cannot be deleted")
    if context not in state.contexts:
        raise subject_not_found(whole_context)
    if mode_in_scope(state, whole_context).is_read_only:
        raise not_permitted(f"Context {context} is in read-only mode")
    if any(context_of(subject) == context for subject in state.versions):
        raise context_not_empty(context)
    return Change((Record(ContextKey(context), None), *_settings(state, whole_context)), None)


def _check_writable(state: RegistryState, subject: str) -> None:
    if mode_in_scope(state, subject).is_read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")


def _check_unreferenced(state: RegistryState, stored: StoredSchema) -> None:
    if state.referrers.get(stored.key):
        raise reference_exists(stored.subject, stored.version)


def _settings(state: RegistryState, scope: str) -> tuple[Record, ...]:
    """The records that take the own settings of a subject or of a context away."""
    modes = (Record(ModeKey(scope), None),) if scope in state.modes else ()
    configs = (Record(ConfigKey(scope), None),) if scope in state.configs else ()
    return (*modes, *configs)
