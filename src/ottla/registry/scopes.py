"""Settings of subjects: their own, else those of their context, else those of the registry, else the defaults.

Each field is looked up by itself: a subject that has only an alias of its own keeps the level of the registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ottla.registry.identity import Json
from ottla.registry.state import RegistryState
from ottla.registry.subjects import parse_subject
from ottla.schemas.compatibility import CompatibilityLevel


class Mode(StrEnum):
    """What may be done with subjects. READONLY_OVERRIDE of the registry holds whatever subjects say."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def is_read_only(self) -> bool:
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)

    @property
    def takes_ids(self) -> bool:
        """Whether schemas come from another registry, with ids and versions of their own."""
        return self in (Mode.IMPORT, Mode.FORWARD)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where nothing is set, by Confluent's names of the settings."""

    # schema.compatibility.level
    level: CompatibilityLevel = CompatibilityLevel.BACKWARD
    # mode.mutability
    allows_mode_changes: bool = True


def scopes_of(subject: str | None) -> tuple[str | None, ...]:
    """Where settings of a subject are looked for, the narrowest first."""
    if subject is None:
        return (None,)
    return tuple(dict.fromkeys((subject, parse_subject(subject).whole_context, None)))


def config_in_scope(state: RegistryState, subject: str | None, defaults: Defaults) -> Json:
    fields: dict[str, Any] = {"compatibilityLevel": str(defaults.level)}
    for scope in reversed(scopes_of(subject)):
        fields |= {name: value for name, value in state.configs.get(scope, {}).items() if value is not None}
    return fields


def level_in_scope(state: RegistryState, subject: str, defaults: Defaults) -> CompatibilityLevel:
    try:
        return CompatibilityLevel(config_in_scope(state, subject, defaults)["compatibilityLevel"])
    except ValueError:
        # A level of another release, read from the topic.
        return defaults.level


def mode_in_scope(state: RegistryState, subject: str | None) -> Mode:
    if state.modes.get(None) == Mode.READONLY_OVERRIDE:
        return Mode.READONLY_OVERRIDE
    for scope in scopes_of(subject):
        if scope in state.modes:
            try:
                return Mode(state.modes[scope])
            except ValueError:
                continue
    return Mode.READWRITE
