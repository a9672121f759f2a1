"""Tags a version: the next version has the same schema with other tags, and other metadata and rules if asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from ottla.registry.change import Change
from ottla.registry.errors import invalid_schema, subject_not_found, version_not_found
from ottla.registry.identity import KINDS_OF_RULES, Json
from ottla.registry.metadata_rules import check_rules, merge_rule_sets
from ottla.registry.queries import LATEST
from ottla.registry.registration import Parse, Registered, Registration, register_schema
from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState
from ottla.schemas import tagging
from ottla.schemas.errors import SchemaError
from ottla.schemas.tagging import Tags

# The next version, whichever number it has.
_NEXT: Final = -1


@dataclass(frozen=True, slots=True)
class TagChange:
    """What a client asks for. Without rules to merge or to remove, `rule_set` are the rules of the new version."""

    added: Tags = field(default_factory=dict)
    removed: Tags = field(default_factory=dict)
    new_version: int | None = None
    metadata: Json | None = None
    rule_set: Json | None = None
    rules_to_merge: Json | None = None
    rules_to_remove: tuple[str, ...] = ()


def change_tags(
    state: RegistryState, subject: str, version: int, asked: TagChange, *, defaults: Defaults, parse: Parse
) -> Change[Registered]:
    check_rules(asked.rule_set)
    check_rules(asked.rules_to_merge)
    if not state.all_of(subject):
        raise subject_not_found(subject)
    stored = state.latest(subject) if version == LATEST else state.find(subject, version)
    if stored is None:
        raise version_not_found(version)
    try:
        text = tagging.change_tags(stored.schema.type, stored.schema.text, asked.added, asked.removed)
    except SchemaError as error:
        raise invalid_schema(f"Tags cannot be changed: {error}") from error
    registration = Registration(
        subject,
        replace(stored.schema, text=text),
        metadata=stored.metadata if asked.metadata is None else asked.metadata,
        rule_set=_rules(state, subject, asked),
        version=asked.new_version or _NEXT,
    )
    change = register_schema(state, registration, defaults=defaults, parse=parse)
    return replace(change, answer=replace(change.answer, is_completed=True))


def _rules(state: RegistryState, subject: str, asked: TagChange) -> Json | None:
    if asked.rules_to_merge is None and not asked.rules_to_remove:
        return asked.rule_set
    before = state.latest(subject) if asked.new_version is None else state.find(subject, asked.new_version - 1)
    merged = merge_rule_sets(None if before is None else before.rule_set, asked.rules_to_merge)
    if merged is None:
        return None
    kept = {
        kind: [rule for rule in merged[kind] if rule.get("name") not in asked.rules_to_remove]
        for kind in KINDS_OF_RULES
        if merged.get(kind)
    }
    return {**merged, **kept}
