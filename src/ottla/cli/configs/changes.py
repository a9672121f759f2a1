"""What a change of settings does: each setting before and after, and whether it loses records or guarantees.

Some settings decide what is kept. A change that lets the broker remove records which it keeps today, or that lets it
lose records which it has acknowledged, is dangerous: it cannot be undone by changing the setting back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.output import Row

if TYPE_CHECKING:
    from ottla.client.admin.configs import ConfigChange, ConfigEntry, ConfigSource

# A smaller value removes records; a negative one means no limit.
_LIMITS: Final = frozenset({"retention.ms", "retention.bytes", "log.retention.ms", "log.retention.bytes"})
_UNITS_MS: Final = {"hours": 3_600_000, "minutes": 60_000}
CHANGE_COLUMNS: Final = ("setting", "before", "after", "danger", "done")
_POLICIES: Final = frozenset({"cleanup.policy", "log.cleanup.policy"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting before and after; None is a value that is not known."""

    name: str
    before: str | None
    after: str | None
    danger: str | None = None

    @property
    def is_change(self) -> bool:
        """Whether the value changes; an unknown one may."""
        return self.after is None or self.before != self.after


def differences(
    entries: "Mapping[str, ConfigEntry]", changes: "Sequence[ConfigChange]", own: "ConfigSource | None"
) -> list[Difference]:
    """What the changes do to an entity with these settings; `own` is the source of those that it has itself."""
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for change in changes:
        entry = entries.get(change.name)
        if change.name not in before:
            before[change.name] = after[change.name] = entry.value if entry is not None else None
        after[change.name] = _changed(after[change.name], change, entry, own)
    return [Difference(name, before[name], after[name], danger(name, before[name], after[name])) for name in before]


def change_rows(
    plan: Mapping[str, Sequence[Difference]], done: Callable[[str], bool], name_column: str = "name"
) -> list[Row]:
    """A plan of changes as commands show it: each setting of each thing, and whether it was changed."""
    return [
        {
            name_column: name,
            "setting": difference.name,
            "before": difference.before,
            "after": difference.after,
            "danger": difference.danger,
            "done": done(name),
        }
        for name, differing in plan.items()
        for difference in differing
    ]


def is_dangerous(plan: Mapping[str, Sequence[Difference]]) -> bool:
    """Whether anything in a plan loses something."""
    return any(difference.danger for differing in plan.values() for difference in differing)


def danger(name: str, before: str | None, after: str | None) -> str | None:
    """What this change of a setting loses; None if it loses nothing."""
    if after is None or before == after:
        return None
    if name in _LIMITS and _limit(after) < _limit(before):
        return "records beyond the new limit are deleted"
    if name in _POLICIES:
        added = set(_items(after)) - set(_items(before))
        if "compact" in added:
            return "only the last record of each key is kept"
        if "delete" in added:
            return "records beyond the retention limits are deleted"
    if name == "unclean.leader.election.enable" and after == "true":
        return "acknowledged records can be lost when replicas fail"
    return None


def _changed(
    value: str | None, change: "ConfigChange", entry: "ConfigEntry | None", own: "ConfigSource | None"
) -> str | None:
    from ottla.client.admin.configs import ConfigOperation

    if change.operation is ConfigOperation.SET:
        return change.value
    if change.operation is ConfigOperation.DELETE:
        return _inherited(entry, own)
    items = _items(value)
    given = _items(change.value)
    if change.operation is ConfigOperation.APPEND:
        return ",".join([*items, *(item for item in given if item not in items)])
    return ",".join(item for item in items if item not in given)


def _inherited(entry: "ConfigEntry | None", own: "ConfigSource | None") -> str | None:
    """The value that takes the place of a deleted one: the strongest of its synonyms that is not the entity's own."""
    for synonym in entry.synonyms if entry is not None else ():
        if synonym.source is not own:
            return _in_milliseconds(synonym.name, synonym.value)
    return None


def _in_milliseconds(name: str, value: str | None) -> str | None:
    """Convert a synonym: brokers have some durations in larger units too, and report them unconverted."""
    unit_ms = _UNITS_MS.get(name.rpartition(".")[2])
    if unit_ms is None or value is None or not value.lstrip("-").isdigit():
        return value
    return str(int(value) * unit_ms) if int(value) >= 0 else value


def _items(value: str | None) -> list[str]:
    return [item.strip() for item in (value or "").split(",") if item.strip()]


def _limit(value: str | None) -> float:
    try:
        number = int(value or "")
    except ValueError:
        return float("inf")
    return float("inf") if number < 0 else number
