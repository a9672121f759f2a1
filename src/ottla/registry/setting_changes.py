"""Changes the level, the other settings and the mode of a subject, of a context, or of the registry.

A registry that is to take schemas of another one with their ids (IMPORT) must not have any in that scope, or an id
could mean two schemas. Those that were deleted softly are forgotten then.
"""

from __future__ import annotations

from ottla.registry.change import Change
from ottla.registry.errors import (
    invalid_level,
    invalid_mode,
    not_permitted,
    reference_exists,
    subject_not_found,
)
from ottla.registry.identity import Json
from ottla.registry.metadata_rules import check_rules
from ottla.registry.records import ClearSubjectKey, ConfigKey, ModeKey, Record
from ottla.registry.scopes import Defaults, Mode, config_in_scope, mode_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import DEFAULT_CONTEXT, Subject, check_subject, parse_subject
from ottla.schemas.compatibility import CompatibilityLevel


def change_config(state: RegistryState, scope: str | None, asked: Json) -> Change[Json]:
    """Fields that are not named stay as they are; the answer are those that were named."""
    fields = dict(asked)
    if fields.get("compatibilityLevel") is not None:
        fields["compatibilityLevel"] = str(read_level(fields["compatibilityLevel"]))
    for name in ("defaultRuleSet", "overrideRuleSet"):
        check_rules(fields.get(name))
    if fields.get("alias"):
        check_subject(fields["alias"])
    _check_writable(state, scope)
    value = {**state.configs.get(scope, {}), **fields}
    return Change((Record(ConfigKey(scope), {name: one for name, one in value.items() if one is not None}),), fields)


def read_level(given: object) -> CompatibilityLevel:
    try:
        return CompatibilityLevel(str(given).upper())
    except ValueError:
        raise invalid_level() from None


def delete_config(state: RegistryState, scope: str | None, defaults: Defaults) -> Change[Json]:
    """What held in this scope is the answer."""
    if scope is not None and scope not in state.configs:
        raise subject_not_found(scope)
    _check_writable(state, scope)
    before = config_in_scope(state, None, defaults) if scope is None else state.configs[scope]
    return Change((Record(ConfigKey(scope), None),), before)


def change_mode(
    state: RegistryState, scope: str | None, given: object, *, defaults: Defaults, is_forced: bool
) -> Change[Mode]:
    try:
        mode = Mode(str(given).upper())
    except ValueError:
        raise invalid_mode() from None
    _check_changeable(defaults)
    records: list[Record] = []
    if mode is Mode.IMPORT and mode_in_scope(state, scope) is not Mode.IMPORT and not is_forced:
        records = _clear(state, scope)
    return Change((*records, Record(ModeKey(scope), {"mode": str(mode)})), mode)


def delete_mode(
    state: RegistryState, scope: str | None, defaults: Defaults, *, is_recursive: bool = False
) -> Change[Mode | None]:
    """What was set in this scope is the answer; None if nothing was.

    In a context, or in the whole registry, which stands for the default context here, the modes of all subjects can be
    taken away with it.
    """
    doomed = [one for one in state.modes if one == scope or (is_recursive and _is_within(one, scope))]
    if scope is not None and scope not in state.modes and not (is_recursive and not parse_subject(scope).name):
        raise subject_not_found(scope)
    _check_changeable(defaults)
    is_set = scope is None or scope in state.modes
    return Change(tuple(Record(ModeKey(one), None) for one in doomed), mode_in_scope(state, scope) if is_set else None)


def _is_within(subject: str | None, scope: str | None) -> bool:
    whole_context = Subject(DEFAULT_CONTEXT, "").whole_context if scope is None else scope
    return subject is not None and parse_subject(subject).whole_context == whole_context


def _check_writable(state: RegistryState, scope: str | None) -> None:
    if mode_in_scope(state, scope).is_read_only:
        raise not_permitted(f"{'The registry' if scope is None else f'Subject {scope}'} is in read-only mode")


def _check_changeable(defaults: Defaults) -> None:
    if not defaults.allows_mode_changes:
        raise not_permitted("Mode changes are not allowed")


def _clear(state: RegistryState, scope: str | None) -> list[Record]:
    doomed: list[StoredSchema] = []
    for subject in state.versions:
        if scope in (None, subject, parse_subject(subject).whole_context):
            doomed += state.all_of(subject, deleted=True)
    if any(not one.is_deleted for one in doomed):
        raise not_permitted("Cannot import since found existing subjects")
    for one in doomed:
        if state.referrers.get(one.key):
            raise reference_exists(one.subject, one.version)
    return [*(Record(one.key, None) for one in doomed), Record(ClearSubjectKey(scope), {"subject": scope})]
