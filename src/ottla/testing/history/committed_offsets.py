"""The committed offset of a group and partition is a register: who reads it gets what was committed last.

A commit is overwritten if another one took effect that was invoked after the first had ended. A client that asks after
that other one has ended must not be told the first. Groups may commit lower offsets than before, so numbers alone say
nothing; the order of the commits does. One whose end is unknown can take effect at any later time, unless a client has
read its offset, which nobody else committed: then it has taken effect by then.

A client that repeats a request after its connection broke makes two commits, of which the first may take effect after
the second was acknowledged. Both are to be in the history, the first without an end.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.history import History
from ottla.testing.history.operations import OffsetCommit, OffsetFetch, Outcome

# Later than everything, and earlier.
_NEVER: Final = 1 << 62
_ALWAYS: Final = -1


@dataclass(slots=True)
class _Register:
    """All that was done with the committed offset of one group and partition."""

    commits: list[OffsetCommit] = field(default_factory=list)
    fetches: list[OffsetFetch] = field(default_factory=list)


def find_committed_offset_anomalies(history: History) -> Iterator[Anomaly]:
    """Answers that name an offset that was overwritten, or that nobody committed."""
    registers: dict[tuple[str, TopicPartition], _Register] = {}
    for commit in history.offset_commits:
        registers.setdefault((commit.group, commit.partition), _Register()).commits.append(commit)
    for fetch in history.offset_fetches:
        registers.setdefault((fetch.group, fetch.partition), _Register()).fetches.append(fetch)
    for register in registers.values():
        for anomaly in _judge(register, history.may_be_stale):
            if history.keeps_coordinator_state or anomaly.kind is AnomalyKind.PHANTOM_COMMITTED_OFFSET:
                yield anomaly


def _judge(register: _Register, may_be_stale: Callable[[OffsetFetch], bool]) -> Iterator[Anomaly]:
    possible = [commit for commit in register.commits if commit.outcome is not Outcome.FAIL]
    possible = _with_known_ends(possible, register.fetches)
    by_offset = {commit.offset: commit for commit in register.commits}
    writers = _writers(possible)
    overwriting = _Overwriting(possible)
    for fetch in register.fetches:
        answer = (
            f"the committed offset of {fetch.group} in {fetch.partition} was {fetch.offset} for a client that asked at "
            f"{fetch.invoked}"
        )
        writer = writers.get(fetch.offset)
        latest_end = writer.latest_end(fetch.ended) if writer is not None else None
        if latest_end is None:
            impossible = by_offset.get(fetch.offset)
            reason = "nobody committed that" if impossible is None else f"{impossible} cannot be the reason"
            yield Anomaly(AnomalyKind.PHANTOM_COMMITTED_OFFSET, f"{answer}, but {reason}")
            continue
        later = overwriting.latest_before(fetch.invoked)
        if later is not None and latest_end < later.invoked and not may_be_stale(fetch):
            yield Anomaly(AnomalyKind.COMMITTED_OFFSET_WENT_BACK, f"{answer}, but that is older than {later}")


def _with_known_ends(commits: Sequence[OffsetCommit], fetches: Sequence[OffsetFetch]) -> list[OffsetCommit]:
    """Unknown commits have ended when the first client had read what they alone had committed."""
    counts = Counter(commit.offset for commit in commits)
    first_read: dict[int, int] = {}
    for fetch in fetches:
        # Before any commit there is no offset either, so nobody knows who deleted it.
        if fetch.offset is not None and counts[fetch.offset] == 1:
            first_read[fetch.offset] = min(fetch.ended, first_read.get(fetch.offset, _NEVER))
    return [
        commit
        if commit.outcome is Outcome.OK
        else replace(commit, ended=None if commit.offset is None else first_read.get(commit.offset))
        for commit in commits
    ]


class _Writers:
    """The commits of one offset."""

    def __init__(self, commits: Sequence[tuple[int, int]]) -> None:
        """`commits`: when they were invoked and ended."""
        commits = sorted(commits)
        self._invoked = [invoked for invoked, _ in commits]
        # The latest end of those up to each.
        self._latest_ends: list[int] = []
        for _, ended in commits:
            self._latest_ends.append(max(ended, self._latest_ends[-1]) if self._latest_ends else ended)

    def latest_end(self, until: int) -> int | None:
        """The latest end of those that were invoked until a time; None if none was."""
        count = bisect_right(self._invoked, until)
        return self._latest_ends[count - 1] if count else None


def _writers(commits: Sequence[OffsetCommit]) -> dict[int | None, _Writers]:
    times: dict[int | None, list[tuple[int, int]]] = {None: [(_ALWAYS, _ALWAYS)]}
    for commit in commits:
        ended = _NEVER if commit.ended is None else commit.ended
        times.setdefault(commit.offset, []).append((commit.invoked, ended))
    return {offset: _Writers(entries) for offset, entries in times.items()}


class _Overwriting:
    """Commits that surely took effect: those whose end is known."""

    def __init__(self, commits: Sequence[OffsetCommit]) -> None:
        ended = sorted((commit.ended, place) for place, commit in enumerate(commits) if commit.ended is not None)
        self._ends = [end for end, _ in ended]
        # Of those up to each, the one that was invoked last.
        self._latest: list[OffsetCommit] = []
        for _, place in ended:
            is_later = not self._latest or commits[place].invoked > self._latest[-1].invoked
            self._latest.append(commits[place] if is_later else self._latest[-1])

    def latest_before(self, time: int) -> OffsetCommit | None:
        """Of those that had ended before a time, the one that was invoked last."""
        count = bisect_left(self._ends, time)
        return self._latest[count - 1] if count else None
