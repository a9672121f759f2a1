"""Changes the level, the other settings and the mode of a subject, of a context, or of the registry.

A registry that is to take schemas of another one with their ids (IMPORT) must not have any in that scope, or an id
could mean two schemas. Those that were deleted softly are forgotten then.
"""

from __future__ import annotations

from ottla.registry.change import Change
from ottla.registry.errors import (
    invalid_level,
    invalid_mode,
    no_subject_config,
    no_subject_mode,
    not_permitted,
    reference_exists,
)
from ottla.registry.identity import Json
from ottla.registry.metadata_rules import check_rules
from ottla.registry.records import ClearSubjectKey, ConfigKey, ModeKey, Record
from ottla.registry.scopes import Defaults, Mode, config_in_scope, mode_in_scope
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.registry.subjects import parse_subject
from ottla.schemas.compatibility import CompatibilityLevel


def change_config(state: RegistryState, scope: str | None, asked: Json) -> Change[Json]:
    """Fields that are not named stay as they are; the answer are those that were named."""
    if mode_in_scope(state, scope).is_read_only:
        raise not_permitted(f"Subject {scope} is in read-only mode")
    fields = dict(asked)
    if fields.get("compatibilityLevel") is not None:
        fields["compatibilityLevel"] = str(read_level(fields["compatibilityLevel"]))
    for name in ("defaultRuleSet", "overrideRuleSet"):
        check_rules(fields.get(name))
    value = {**state.configs.get(scope, {}), **fields}
    return Change((Record(ConfigKey(scope), {name: one for name, one in value.items() if one is not None}),), fields)


def read_level(given: object) -> CompatibilityLevel:
    try:
        return CompatibilityLevel(str(given).upper())
    except ValueError:
        raise invalid_level() from None


def delete_config(state: RegistryState, scope: str | None, defaults: Defaults) -> Change[Json]:
    """What held in this scope is the answer."""
    if mode_in_scope(state, scope).is_read_only:
        raise not_permitted(f"Subject {scope} is in read-only mode")
    if scope is not None and scope not in state.configs:
        raise no_subject_config(scope)
    before = config_in_scope(state, None, defaults) if scope is None else state.configs[scope]
    return Change((Record(ConfigKey(scope), None),), before)


def change_mode(
    state: RegistryState, scope: str | None, given: object, *, defaults: Defaults, is_forced: bool
) -> Change[Mode]:
    if not defaults.allows_mode_changes:
        raise not_permitted("Mode changes are not allowed")
    try:
        mode = Mode(str(given).upper())
    except ValueError:
        raise invalid_mode() from None
    records: list[Record] = []
    if mode is Mode.IMPORT and mode_in_scope(state, scope) is not Mode.IMPORT and not is_forced:
        records = _clear(state, scope)
    return Change((*records, Record(ModeKey(scope), {"mode": str(mode)})), mode)


def delete_mode(state: RegistryState, scope: str, defaults: Defaults) -> Change[Mode]:
    """What held in this scope is the answer."""
    if not defaults.allows_mode_changes:
        raise not_permitted("Mode changes are not allowed")
    if scope not in state.modes:
        raise no_subject_mode(scope)
    return Change((Record(ModeKey(scope), None),), mode_in_scope(state, scope))


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
