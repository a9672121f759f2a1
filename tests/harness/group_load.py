"""A consumer group at work: members of Java's client and of librdkafka read a topic and commit how far they came.

Each says what it does and when, on the clock that all processes of a machine share: `assigned` before it asks where to
begin, `revoked` when it has to give a partition back, `read` with the offsets of a batch, `committing` before it asks
for a commit, `committed` when that was acknowledged, and `refused` with the reason if it was not, after which it asks
again. In the end, `anomalies` looks for what a group must never do:

- begin behind a commit that was acknowledged before the partition was assigned: the group's offset went back;
- begin beyond everything that anybody tried to commit: records were skipped;
- read records of one assignment that do not follow each other.

The topic must hold every offset, so no transactions. Reading records twice after a commit that failed is no anomaly.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.agents import SOURCES
from harness.clients.java_client import compiled_agent
from harness.java import java
from harness.waiting import eventually
from harness.workers import Worker


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """What a member did with a partition: the offset of the first record, and of the one after the last."""

    at_ns: int
    what: str
    partition: int
    first: int
    following: int
    member: int


def event(line: str, member: int) -> Event:
    what, *numbers = line.split(" ")
    at_ns, partition, first, following = map(int, numbers)
    return Event(at_ns, what, partition, first, following, member)


def anomalies(events: Iterable[Event]) -> list[str]:
    """What went wrong, in words."""
    found: list[str] = []
    acknowledged: dict[int, int] = {}
    attempted: dict[int, int] = {}
    # Where an assignment must begin at least, and where it goes on.
    lowest: dict[tuple[int, int], int] = {}
    following: dict[tuple[int, int], int] = {}
    for one in sorted(events):
        key = one.member, one.partition
        if one.what == "revoked":
            following.pop(key, None)
        elif one.what == "assigned":
            lowest[key] = acknowledged.get(one.partition, 0)
            following.pop(key, None)
        elif one.what == "committing":
            attempted[one.partition] = max(one.first, attempted.get(one.partition, 0))
        elif one.what == "committed":
            acknowledged[one.partition] = max(one.first, acknowledged.get(one.partition, 0))
        elif one.what == "gap":
            found.append(f"partition {one.partition}: {one.following} follows where {one.first} is expected")
        elif key in following:
            if one.first != following[key]:
                found.append(f"partition {one.partition}: {one.first} follows where {following[key]} is expected")
            following[key] = one.following
        else:
            if one.first < lowest.get(key, 0):
                found.append(f"partition {one.partition}: begun at {one.first}, behind the commit of {lowest[key]}")
            if one.first > attempted.get(one.partition, 0):
                highest = attempted.get(one.partition, 0)
                found.append(f"partition {one.partition}: begun at {one.first}, beyond any commit, up to {highest}")
            following[key] = one.following
    return found


class GroupLoad:
    """Two members, of Java's client and of librdkafka."""

    def __init__(self, bootstrap: str, topic: str, group: str = "readers") -> None:
        program = [sys.executable, str(SOURCES / "confluent_reader.py")]
        commands: tuple[Sequence[str], ...] = (
            java("Reader", bootstrap, group, topic, classes=(compiled_agent(),)),
            [*program, bootstrap, group, topic],
        )
        self._members = [_member(command) for command in commands]

    def _events(self) -> list[Event]:
        return [
            event(line, number)
            for number, one in enumerate(self._members)
            for line in list(one.said)
            if not line.startswith("refused")
        ]

    def commits(self) -> int:
        """How many commits were acknowledged so far."""
        return sum(member.count("committed") for member in self._members)

    def work(self, commits: int, *, timeout_s: float = 90.0) -> None:
        """Goes on until so many more commits were acknowledged."""
        enough = self.commits() + commits
        eventually(
            lambda: (self.commits(), [member.said[-3:] for member in self._members]),
            lambda seen: seen[0] >= enough,
            timeout_s=timeout_s,
        )

    def check(self, ends: dict[int, int]) -> None:
        """The members come to the end of each partition, and have read everything, with no anomaly."""
        eventually(
            lambda: (self._acknowledged(), [member.said[-3:] for member in self._members]),
            lambda seen: all(seen[0].get(key) == end for key, end in ends.items()),
            timeout_s=90,
        )
        for member in self._members:
            assert member.finish() == 0
        events = self._events()
        wrong = anomalies(events)
        assert not wrong, wrong[:20]
        for partition, end in ends.items():
            assert _covered(events, partition) == end, "every record was read"

    def _acknowledged(self) -> dict[int, int]:
        committed = [one for one in self._events() if one.what == "committed"]
        return {one.partition: one.first for one in sorted(committed)}

    def close(self) -> None:
        for member in self._members:
            member.close()


def _member(command: Sequence[str]) -> Worker:
    return Worker(lambda _: command, os.environ)


def _covered(events: Iterable[Event], partition: int) -> int:
    """Up to which offset everything was read."""
    end = 0
    for one in sorted((one for one in events if one.what == "read"), key=lambda one: one.first):
        if one.partition == partition and one.first <= end:
            end = max(end, one.following)
    return end
