"""The end of a partition only grows, for all clients together (KIP-207).

A client knows that the high watermark has passed an offset if it was told so, if it read the record there, or if its
record was acknowledged by all replicas in sync. Whoever asks later must not be told less. Readers of committed records
see the last stable offset instead, which is never above the high watermark and does not go back either.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.final_log import Promise
from ottla.testing.history.history import History
from ottla.testing.history.observed_log import polls
from ottla.testing.history.operations import Outcome, ProducerKind


@dataclass(frozen=True, slots=True)
class _Sighting:
    """At a time, a client knew that a partition reaches as far as an offset."""

    at: int
    offset: int
    source: object


@dataclass(slots=True)
class _Sightings:
    """All that was known of the end of one partition, by readers of one level."""

    all: list[_Sighting] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    # The farthest sighting up to each of the times.
    _farthest: list[_Sighting] = field(default_factory=list)

    def settle(self) -> None:
        """Put them in order, once all are there."""
        self.all.sort(key=lambda sighting: sighting.at)
        self._times = [sighting.at for sighting in self.all]
        farthest: _Sighting | None = None
        for sighting in self.all:
            farthest = sighting if farthest is None or sighting.offset > farthest.offset else farthest
            self._farthest.append(farthest)

    def farthest(self, before: int | None = None) -> _Sighting | None:
        """The farthest one before a time, or of all."""
        count = len(self._times) if before is None else bisect_left(self._times, before)
        return self._farthest[count - 1] if count else None


def find_end_offsets_that_went_back(history: History) -> Iterator[Anomaly]:
    """Answers, and final logs, that end before what a client knew earlier."""
    known = _collect(history)
    for answer in history.end_offsets:
        if history.may_be_stale(answer):
            continue
        farthest = known[answer.partition, answer.isolation].farthest(before=answer.invoked)
        if farthest is not None and farthest.offset > answer.offset:
            yield Anomaly(
                AnomalyKind.END_OFFSET_WENT_BACK,
                f"{answer.partition} ended at {answer.offset} for a client with {answer.isolation.name.lower()} that "
                f"asked at {answer.invoked} and was told at {answer.ended}, but reached {farthest.offset} for "
                f"{farthest.source}",
            )
    for partition, final in history.final_logs.items():
        sightings = known.get((partition, IsolationLevel.READ_UNCOMMITTED))
        farthest = sightings.farthest() if sightings is not None else None
        if farthest is not None and farthest.offset > final.end_offset:
            yield Anomaly(
                AnomalyKind.END_OFFSET_WENT_BACK,
                f"the final log of {partition} ends at {final.end_offset}, but it reached {farthest.offset} for "
                f"{farthest.source}",
            )


def _collect(history: History) -> Mapping[tuple[TopicPartition, IsolationLevel], _Sightings]:
    found: dict[tuple[TopicPartition, IsolationLevel], _Sightings] = {}

    def note(partition: TopicPartition, isolation: IsolationLevel, at: int, offset: int, source: object) -> None:
        sighting = _Sighting(at, _kept(history.promise(partition), offset), source)
        found.setdefault((partition, isolation), _Sightings()).all.append(sighting)
        if isolation is IsolationLevel.READ_COMMITTED:
            found.setdefault((partition, IsolationLevel.READ_UNCOMMITTED), _Sightings()).all.append(sighting)

    for send in history.sends:
        is_replicated = history.producers[send.value.producer] is not ProducerKind.ACKS_1
        if is_replicated and send.outcome is Outcome.OK and send.offset is not None and send.ended is not None:
            note(send.partition, IsolationLevel.READ_UNCOMMITTED, send.ended, send.offset + 1, send)
    for name, poll in polls(history):
        if poll.records:
            last_offset = max(record.offset for record in poll.records)
            source = f"{name}'s poll at {poll.at}"
            note(poll.partition, history.consumers[name].isolation, poll.at, last_offset + 1, source)
    for answer in history.end_offsets:
        source = f"the client that was told at {answer.ended}"
        note(answer.partition, answer.isolation, answer.ended, answer.offset, source)
    for sightings in found.values():
        sightings.settle()
    return found


def _kept(promise: Promise, offset: int) -> int:
    """The part of a log, up to an end offset, that stays."""
    return offset if promise.keeps_acks_all else min(offset, promise.flushed_offset)
