"""What an administrator knows of the topics that it made: what must be so, and what may be so.

A change that was acknowledged has happened, and survives every crash. One that was asked for and not acknowledged may
have happened, or happen at any later time: its request may still be under way. So may a copy of a change that was asked
for more than once, because a connection broke, although another copy was acknowledged. What follows:

- a topic whose creation was acknowledged exists under its id, until its deletion is asked for;
- an id whose deletion was acknowledged is never seen again. A name is not used again if any change under it is in
  doubt, because its request could still come and reach a topic that got the name later;
- a setting has the value that was acknowledged last, or one that is in doubt;
- a topic has as many partitions as were acknowledged, at most as many as were asked for;
- records from the highest offset before which deletion was asked for stay, and the log begins there or before. As long
  as no server stops, its start does not go back. Across a crash it may, as in Kafka: it is written down now and then.

There is one administrator, and it does one thing at a time, so nobody else changes what it looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ottla.testing.history import Anomaly, AnomalyKind


@dataclass(slots=True)
class AdministeredSetting:
    """The values that a setting of a topic may have."""

    acknowledged: str | None = None
    in_doubt: list[str] = field(default_factory=list)

    def ask(self, value: str) -> None:
        self.in_doubt.append(value)

    def acknowledge(self, value: str, *, was_repeated: bool) -> None:
        self.acknowledged = value
        if not was_repeated:
            self.in_doubt.remove(value)

    def may_be(self, value: str | None) -> bool:
        return value == self.acknowledged or value in self.in_doubt


@dataclass(slots=True)
class AdministeredLog:
    """A partition: what was written, and before which offset it was to be deleted."""

    written: dict[int, bytes] = field(default_factory=dict)
    start_asked: int = 0
    # The farthest start that was seen, and in which life of the server; lives count from 1.
    start_seen: int = 0
    start_seen_in_life: int = 0

    @property
    def end(self) -> int:
        """Behind the last record that was acknowledged."""
        return max(self.written, default=-1) + 1

    def saw_start(self, start: int, life: int) -> None:
        self.start_seen, self.start_seen_in_life = start, life

    def check(self, where: str, start: int, found: Mapping[int, bytes], life: int | None) -> Iterator[Anomaly]:
        """Compares with what was read from the start to the end; in which life that was, None if in more than one."""
        if start > self.start_asked:
            what = f"{where} begins at {start}, and only what lies before {self.start_asked} was to be deleted"
            yield Anomaly(AnomalyKind.LOST_WRITE, what)
        if life == self.start_seen_in_life and start < self.start_seen:
            yield Anomaly(AnomalyKind.LOG_START_WENT_BACK, f"{where} begins at {start}, after {self.start_seen}")
        for offset, value in self.written.items():
            if offset >= self.start_asked and found.get(offset) != value:
                what = f"{value.decode()} at offset {offset} of {where} was acknowledged, and there is"
                yield Anomaly(
                    AnomalyKind.LOST_WRITE, f"{what} {found[offset]!r}" if offset in found else f"{what} none"
                )


@dataclass(slots=True)
class AdministeredTopic:
    """A topic whose creation was acknowledged, and whose deletion nobody has asked for."""

    name: str
    topic_id: bytes
    partitions_acknowledged: int
    partitions_asked: int
    settings: dict[str, AdministeredSetting] = field(default_factory=dict)
    logs: dict[int, AdministeredLog] = field(default_factory=dict)
    # How many changes, records and deletions were asked for of which a copy may still come.
    in_doubt_count: int = 0

    def log(self, partition: int) -> AdministeredLog:
        return self.logs.setdefault(partition, AdministeredLog())

    def setting(self, name: str) -> AdministeredSetting:
        return self.settings.setdefault(name, AdministeredSetting())

    def check_settings(self, found: Mapping[str, str | None]) -> Iterator[Anomaly]:
        """Compares with the settings that the topic has of its own, by name."""
        for name, setting in self.settings.items():
            if not setting.may_be(found.get(name)):
                what = f"{name} of {self.name} is {found.get(name)}; acknowledged was {setting.acknowledged}"
                yield Anomaly(
                    AnomalyKind.LOST_CHANGE, f"{what}, in doubt is {', '.join(setting.in_doubt) or 'nothing'}"
                )


@dataclass(slots=True)
class AdministeredTopics:
    """All of them, and the names and numbers for more."""

    topics: dict[str, AdministeredTopic] = field(default_factory=dict)
    # By id: the names of those whose deletion was acknowledged.
    deleted: dict[bytes, str] = field(default_factory=dict)
    change_count: int = 0
    _free_names: list[str] = field(default_factory=list)
    _name_count: int = 0

    def take_number(self) -> int:
        """A number for a value that no other change has."""
        self.change_count += 1
        return self.change_count

    def take_name(self) -> str:
        """A name for a topic: one that was deleted, or a new one."""
        if self._free_names:
            return self._free_names.pop(0)
        self._name_count += 1
        return f"administered-{self._name_count}"

    def created(self, name: str, topic_id: bytes, partitions: int, settings: Mapping[str, str]) -> None:
        """A creation was acknowledged."""
        own = {setting: AdministeredSetting(value) for setting, value in settings.items()}
        self.topics[name] = AdministeredTopic(name, topic_id, partitions, partitions, own)

    def ask_deletion(self, name: str) -> AdministeredTopic:
        """From now on the topic may be gone."""
        return self.topics.pop(name)

    def acknowledge_deletion(self, topic: AdministeredTopic, *, was_repeated: bool) -> None:
        self.deleted[topic.topic_id] = topic.name
        if not was_repeated and not topic.in_doubt_count:
            self._free_names.append(topic.name)

    def check_listing(self, found: Mapping[bytes, tuple[str, int]]) -> Iterator[Anomaly]:
        """Compares with all topics that there are: by id, their names and how many partitions they have."""
        for topic_id, (name, _) in found.items():
            if topic_id in self.deleted:
                yield Anomaly(AnomalyKind.UNDONE_DELETION, f"{name} is there, whose deletion was acknowledged")
        for topic in self.topics.values():
            if topic.topic_id not in found:
                yield Anomaly(AnomalyKind.LOST_CHANGE, f"{topic.name}, whose creation was acknowledged, is not there")
                continue
            _, count = found[topic.topic_id]
            if not topic.partitions_acknowledged <= count <= topic.partitions_asked:
                what = f"{topic.name} has {count} partitions; {topic.partitions_acknowledged} were acknowledged"
                yield Anomaly(AnomalyKind.LOST_CHANGE, f"{what}, and at most {topic.partitions_asked} asked for")
