"""A partition as all of its observers know it: the log at the end, and below its start what was seen before.

Retention deletes the beginning of a log, so what stood there is known only from the consumers who read it and the
producers who were told offsets. Above the start the final log has the word, and whoever saw something else has found
an anomaly: an offset keeps its value for ever, once it was told or read.

What a partition was allowed to lose is left out: its offsets may have been given to other values.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.final_log import FinalLog, FinalRecord, Promise
from ottla.testing.history.history import History
from ottla.testing.history.operations import (
    Outcome,
    Poll,
    PolledRecord,
    ProducerKind,
    Send,
    Value,
)


@dataclass
class ObservedLog:
    """One partition."""

    partition: TopicPartition
    final: FinalLog | None
    promise: Promise
    # By offset, and who told us, if it was not the final log.
    values: dict[int, Value] = field(default_factory=dict)
    _told: dict[int, str] = field(default_factory=dict)
    anomalies: list[Anomaly] = field(default_factory=list)

    def __post_init__(self) -> None:
        for record in self.final.records if self.final is not None else ():
            known = self.values.setdefault(record.offset, record.value)
            if known != record.value:
                self._disagree(record.offset, record.value, "the final log itself")

    @property
    def start_offset(self) -> float:
        """Below it nothing is known of the final log."""
        return float("inf") if self.final is None else self.final.start_offset

    @cached_property
    def final_records(self) -> Mapping[Value, FinalRecord]:
        """The records of the final log by value; the first, if one is there twice."""
        found: dict[Value, FinalRecord] = {}
        for record in self.final.records if self.final is not None else ():
            found.setdefault(record.value, record)
        return found

    def has_lost(self, send: Send, kind: ProducerKind) -> bool:
        """Whether an acknowledged record is not in the final log, and neither retention nor the promise allows that."""
        if self.final is None or send.outcome is not Outcome.OK or send.value in self.final_records:
            return False
        was_deleted = send.offset is not None and send.offset < self.start_offset
        return not was_deleted and self.promise.keeps(kind, send.offset)

    def first_visible(self, isolation: IsolationLevel, low: int, high: int) -> int | None:
        """The first offset from `low` and below `high` where the final log has a record for readers of a level."""
        offsets = self._visible_offsets[isolation]
        place = bisect_left(offsets, low)
        return offsets[place] if place < len(offsets) and offsets[place] < high else None

    @cached_property
    def _visible_offsets(self) -> Mapping[IsolationLevel, list[int]]:
        records = sorted(self.final.records, key=lambda record: record.offset) if self.final is not None else []
        return {
            IsolationLevel.READ_UNCOMMITTED: [record.offset for record in records],
            IsolationLevel.READ_COMMITTED: [record.offset for record in records if record.state.is_visible],
        }

    def note_read(self, consumer: str, poll: Poll, record: PolledRecord) -> None:
        """A consumer read a record, so it was replicated and must stay."""
        known = self.values.get(record.offset)
        if known == record.value or not self.promise.keeps_reads(record.offset):
            return
        who = f"{consumer}'s poll at {poll.at}"
        if known is not None:
            self._disagree(record.offset, record.value, who)
        elif record.offset < self.start_offset:
            self._learn(record.offset, record.value, who)
        else:
            assert self.final is not None
            # Once: others may have read it too.
            self._learn(record.offset, record.value, who)
            self.anomalies.append(
                Anomaly(
                    AnomalyKind.VANISHED_READ,
                    f"{who} found {record.value} at offset {record.offset} of {self.partition}; the final log, offsets "
                    f"{self.final.start_offset} to {self.final.end_offset}, has no record there",
                )
            )

    def note_acknowledgement(self, send: Send, offset: int) -> None:
        """A producer was told that its record is at an offset, and that it stays."""
        known = self.values.get(offset)
        if known is not None:
            if known != send.value:
                self._disagree(offset, send.value, str(send))
        elif offset < self.start_offset:
            self._learn(offset, send.value, str(send))
        elif send.value in self.final_records:
            found = self.final_records[send.value]
            self.anomalies.append(
                Anomaly(AnomalyKind.INCONSISTENT_OFFSET, f"{send} is in the final log at offset {found.offset}")
            )

    def _learn(self, offset: int, value: Value, who: str) -> None:
        self.values[offset] = value
        self._told[offset] = who

    def _disagree(self, offset: int, value: Value, who: str) -> None:
        other = self._told.get(offset, "the final log")
        self.anomalies.append(
            Anomaly(
                AnomalyKind.INCONSISTENT_OFFSET,
                f"offset {offset} of {self.partition} holds {value} for {who}, and {self.values[offset]} for {other}",
            )
        )


Logs: TypeAlias = Mapping[TopicPartition, ObservedLog]


def observe(history: History) -> Logs:
    """The logs of all partitions that anyone has to do with."""
    partitions = dict.fromkeys(history.final_logs)
    partitions.update(dict.fromkeys(send.partition for send in history.sends))
    partitions.update(dict.fromkeys(poll.partition for _, poll in polls(history)))
    logs = {
        partition: ObservedLog(partition, history.final_logs.get(partition), history.promise(partition))
        for partition in partitions
    }
    for send in history.sends:
        if send.outcome is Outcome.OK and send.offset is not None:
            log = logs[send.partition]
            if log.promise.keeps(history.producers[send.value.producer], send.offset):
                log.note_acknowledgement(send, send.offset)
    for consumer, poll in polls(history):
        log = logs[poll.partition]
        for record in poll.records:
            log.note_read(consumer, poll, record)
    return logs


def polls(history: History) -> Iterator[tuple[str, Poll]]:
    """All polls, with the consumer's name."""
    for name, consumer in history.consumers.items():
        for event in consumer.events:
            if isinstance(event, Poll):
                yield name, event
