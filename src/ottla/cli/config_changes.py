"""What a change of settings does: each setting before and after, and whether records or promises are lost by it.

Some settings decide what is kept. A change that lets the broker remove records which it keeps today, or that lets it
lose records which it has acknowledged, is dangerous: it cannot be undone by changing the setting back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client.admin.configs import ConfigChange, ConfigEntry

# A smaller value removes records; a negative one means no limit.
_LIMITS: Final = frozenset({"retention.ms", "retention.bytes", "log.retention.ms", "log.retention.bytes"})
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
        """Whether anything is different; what is not known may be."""
        return self.after is None or self.before != self.after


def differences(entries: "Mapping[str, ConfigEntry]", changes: "Sequence[ConfigChange]") -> list[Difference]:
    """What the changes do to a resource with these settings; several of one setting build on each other."""
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for change in changes:
        entry = entries.get(change.name)
        if change.name not in before:
            before[change.name] = after[change.name] = entry.value if entry is not None else None
        after[change.name] = _changed(after[change.name], change, entry)
    return [Difference(name, before[name], after[name], danger(name, before[name], after[name])) for name in before]


def danger(name: str, before: str | None, after: str | None) -> str | None:
    """What is lost when a setting changes so; None if nothing is."""
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


def _changed(value: str | None, change: "ConfigChange", entry: "ConfigEntry | None") -> str | None:
    from ottla.client.admin.configs import ConfigOperation

    if change.operation is ConfigOperation.SET:
        return change.value
    if change.operation is ConfigOperation.DELETE:
        return _inherited(entry)
    items = _items(value)
    given = _items(change.value)
    if change.operation is ConfigOperation.APPEND:
        return ",".join([*items, *(item for item in given if item not in items)])
    return ",".join(item for item in items if item not in given)


def _inherited(entry: "ConfigEntry | None") -> str | None:
    """The value that takes the place of a deleted one: the next of its synonyms, if the broker told of any."""
    if entry is None or not entry.synonyms:
        return None
    if entry.synonyms[0].source is not entry.source or len(entry.synonyms) == 1:
        return None
    return entry.synonyms[1].value


def _items(value: str | None) -> list[str]:
    return [item.strip() for item in (value or "").split(",") if item.strip()]


def _limit(value: str | None) -> float:
    try:
        number = int(value or "")
    except ValueError:
        return float("inf")
    return float("inf") if number < 0 else number
