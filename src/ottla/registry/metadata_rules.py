"""Metadata and rules of a schema: what a registration inherits from settings and from the version before, and which
rules make sense (data contracts)."""

from __future__ import annotations

from typing import Final

from ottla.registry.errors import invalid_rule_set
from ottla.registry.identity import Json

# The property by which a schema says which version it is.
VERSION_PROPERTY: Final = "confluent:version"
_NAME_LENGTH_MAX: Final = 64
_KINDS: Final = ("TRANSFORM", "CONDITION")
_MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
_DATA_MODES: Final = ("WRITE", "READ", "WRITEREAD")
_MODES: Final = {"migrationRules": _MIGRATION_MODES, "domainRules": _DATA_MODES, "encodingRules": _DATA_MODES}
_MODES_OF_TWO_ACTIONS: Final = ("WRITEREAD", "UPDOWN")


def merge_metadata(old: Json | None, new: Json | None) -> Json | None:
    """Both together; where they differ, the new one holds."""
    if old is None or new is None:
        return new if old is None else old
    merged = {**old, **new}
    for name in ("tags", "properties"):
        if name in merged:
            merged[name] = {**(old.get(name) or {}), **(new.get(name) or {})}
    if "sensitive" in merged:
        merged["sensitive"] = sorted({*(old.get("sensitive") or ()), *(new.get("sensitive") or ())})
    return merged


def merge_rule_sets(old: Json | None, new: Json | None) -> Json | None:
    """Both together; of two rules with one name the new one holds."""
    if old is None or new is None:
        return new if old is None else old
    merged = {**old, **new}
    for kind in _MODES:
        if kind in merged:
            names = {rule.get("name") for rule in new.get(kind) or ()}
            kept = [rule for rule in old.get(kind) or () if rule.get("name") not in names]
            merged[kind] = [*kept, *(new.get(kind) or ())]
    return merged


def inherit(
    config: Json, metadata: Json | None, rule_set: Json | None, before: tuple[Json | None, Json | None]
) -> tuple[Json | None, Json | None]:
    """Metadata and rules of a new version: its own, else those of the version before it, between what settings say by
    default and what they impose."""
    own_metadata = before[0] if metadata is None else metadata
    own_rules = before[1] if rule_set is None else rule_set
    return (
        merge_metadata(merge_metadata(config.get("defaultMetadata"), own_metadata), config.get("overrideMetadata")),
        merge_rule_sets(merge_rule_sets(config.get("defaultRuleSet"), own_rules), config.get("overrideRuleSet")),
    )


def with_version(metadata: Json | None, version: int) -> Json:
    return merge_metadata(metadata, {"properties": {VERSION_PROPERTY: str(version)}}) or {}


def check_rules(rule_set: Json | None) -> None:
    """RegistryError for rules that no client could carry out."""
    for place, modes in _MODES.items():
        names: set[str] = set()
        for rule in (rule_set or {}).get(place) or ():
            name = _checked_name(rule.get("name"))
            if name in names:
                raise invalid_rule_set(f"Found rule with duplicate name '{name}'")
            names.add(name)
            _check_rule(rule, place, modes)


def _check_rule(rule: Json, place: str, modes: tuple[str, ...]) -> None:
    name, kind, mode = rule["name"], rule.get("kind"), rule.get("mode")
    if rule.get("type") is None:
        raise invalid_rule_set(f"Rule '{name}' has no type")
    if kind is not None and kind not in _KINDS:
        raise invalid_rule_set(f"Rule '{name}' is of kind {kind}; there are {' and '.join(_KINDS)}")
    if mode not in modes:
        raise invalid_rule_set(f"Rule '{name}' has mode {mode}; those of {place} are {', '.join(modes)}")
    for action in ("onSuccess", "onFailure"):
        if "," in (rule.get(action) or "") and mode not in _MODES_OF_TWO_ACTIONS:
            raise invalid_rule_set(f"Rule '{name}' has two actions for {action}, which needs WRITEREAD or UPDOWN")


def _checked_name(name: str | None) -> str:
    if name is None or not 0 < len(name) <= _NAME_LENGTH_MAX:
        raise invalid_rule_set(f"A rule has the name {name!r}; one of 1 to {_NAME_LENGTH_MAX} letters is needed")
    if not (name[0].isalpha() or name[0] == "_") or not all(one.isalnum() or one in "_-" for one in name):
        raise invalid_rule_set(f"Rule name '{name}' may have letters, digits, _ and -, and begins with a letter or _")
    return name
