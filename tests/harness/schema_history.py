"""What clients of a registry were told, what is in its topic, and whether the two are one story. Pure.

Who asks knows the outcome only if the answer says so: a request that failed may have changed something or nothing. Then
either is right, but what was acknowledged is there to the end, and nothing ever means two things.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration that was acknowledged."""

    subject: str
    text: str
    schema_id: int


@dataclass(frozen=True, slots=True)
class Deleting:
    """A text of a subject is to be deleted for good; from now on it may be there or not."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """An answer to a question: the text of an id, or None if there is said to be none."""

    schema_id: int
    text: str | None
    where: str


@dataclass(frozen=True, slots=True)
class Placed:
    """An answer to a question: which version of a subject an acknowledged schema is; None if it is said to be none."""

    subject: str
    text: str
    place: tuple[int, int] | None  # version and id
    where: str


@dataclass(frozen=True, slots=True)
class Configured:
    """The level of a subject was changed, or None if nobody knows whether it was. One client does this, in order."""

    subject: str
    level: str | None


Event = Registered | Deleting | Found | Placed | Configured


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A committed record of the topic, and who wrote it."""

    offset: int
    producer_id: int
    producer_epoch: int
    key: bytes
    value: bytes | None


def anomalies(events: Sequence[Event], log: Sequence[LogEntry]) -> list[str]:
    return [
        *_double_meanings(events),
        *_missing(events),
        *_mixed_writers(log),
        *_wrong_ids(log),
        *_lost(events, log),
        *_lost_levels(events, log),
    ]


def _double_meanings(events: Iterable[Event]) -> Iterator[str]:
    texts: defaultdict[int, set[str]] = defaultdict(set)
    ids: defaultdict[str, set[int]] = defaultdict(set)
    versions: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event, Registered):
            texts[event.schema_id].add(event.text)
            ids[event.text].add(event.schema_id)
        elif isinstance(event, Found) and event.text is not None:
            texts[event.schema_id].add(event.text)
        elif isinstance(event, Placed) and event.place is not None:
            version, schema_id = event.place
            ids[event.text].add(schema_id)
            versions[event.subject, version].add(schema_id)
    yield from (f"id {key} is {len(found)} schemas: {sorted(found)}" for key, found in texts.items() if len(found) > 1)
    yield from (f"{key} has the ids {sorted(found)}" for key, found in ids.items() if len(found) > 1)
    yield from (
        f"version {version} of {subject} has the ids {sorted(found)}"
        for (subject, version), found in versions.items()
        if len(found) > 1
    )


def _missing(events: Iterable[Event]) -> Iterator[str]:
    """Only what was acknowledged is asked for."""
    for event in events:
        if isinstance(event, Found) and event.text is None:
            yield f"{event.where} did not know id {event.schema_id}"
        elif isinstance(event, Placed) and event.place is None:
            yield f"{event.where} did not know {event.text} in {event.subject}"


def _mixed_writers(log: Iterable[LogEntry]) -> Iterator[str]:
    """Epochs only rise, and whoever was replaced does not come back."""
    epochs: dict[int, int] = {}
    last = -1
    for entry in log:
        known = epochs.get(entry.producer_id, -1)
        if entry.producer_epoch < known or (entry.producer_id in epochs and entry.producer_id != last):
            yield (
                f"offset {entry.offset} was written by producer {entry.producer_id} in epoch {entry.producer_epoch}, "
                f"after epoch {known} and producer {last}"
            )
        epochs[entry.producer_id], last = max(entry.producer_epoch, known), entry.producer_id


def _wrong_ids(log: Iterable[LogEntry]) -> Iterator[str]:
    """Each new schema has a higher id, and a version keeps its own until it is deleted for good.

    Gaps are what compaction has taken away.
    """
    highest = 0
    texts: dict[int, str] = {}
    for entry, place, value in _schemas(log):
        if value is None:
            continue
        schema_id, text = value["id"], value["schema"]
        if schema_id not in texts and schema_id <= highest:
            yield f"offset {entry.offset}: {place} has id {schema_id}, after {highest}"
        if texts.setdefault(schema_id, text) != text:
            yield f"offset {entry.offset}: {place} has id {schema_id}, which is another schema"
        highest = max(highest, schema_id)
    yield from _overwritten(log)


def _overwritten(log: Iterable[LogEntry]) -> Iterator[str]:
    ids: dict[tuple[str, int], int] = {}
    for entry, place, value in _schemas(log):
        if value is None:
            ids.pop(place, None)
        elif ids.setdefault(place, value["id"]) != value["id"]:
            yield f"offset {entry.offset}: {place} was id {ids[place]} and is {value['id']}"


def _lost(events: Iterable[Event], log: Iterable[LogEntry]) -> Iterator[str]:
    kept = {place: value for _, place, value in _schemas(log)}
    there = {
        (subject, value["schema"], value["id"])
        for (subject, _), value in kept.items()
        if value is not None and not value["deleted"]
    }
    awaited: dict[tuple[str, str], Registered] = {}
    for event in events:
        if isinstance(event, Registered):
            awaited[event.subject, event.text] = event
        elif isinstance(event, Deleting):
            awaited.pop((event.subject, event.text), None)
    for one in awaited.values():
        if (one.subject, one.text, one.schema_id) not in there:
            yield f"{one.text} was registered in {one.subject} with id {one.schema_id}, and is not there"


def _lost_levels(events: Iterable[Event], log: Iterable[LogEntry]) -> Iterator[str]:
    acknowledged = {event.subject: event.level for event in events if isinstance(event, Configured)}
    kept: dict[str, str | None] = {}
    for entry in log:
        key = json.loads(entry.key)
        if key["keytype"] == "CONFIG":
            kept[key["subject"]] = None if entry.value is None else json.loads(entry.value)["compatibilityLevel"]
    for subject, level in acknowledged.items():
        if level is not None and kept.get(subject) != level:
            yield f"{subject} was set to {level}, and is {kept.get(subject)}"


def _schemas(log: Iterable[LogEntry]) -> Iterator[tuple[LogEntry, tuple[str, int], Any]]:
    for entry in log:
        key = json.loads(entry.key)
        if key["keytype"] == "SCHEMA":
            yield entry, (key["subject"], key["version"]), None if entry.value is None else json.loads(entry.value)
