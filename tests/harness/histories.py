"""Short histories, written by hand: what one test of the history checker needs of a recorder."""

from collections.abc import Iterable, Sequence

from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history import (
    AnomalyKind,
    FinalLog,
    FinalRecord,
    History,
    Recorder,
    RecordState,
    Value,
    check,
)
from ottla.testing.history.recorder import PendingSend, ProducerRecorder

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def final_log(
    values: Iterable[Value | tuple[Value, RecordState] | None],
    *,
    partition: TopicPartition = T0,
    start: int = 0,
) -> FinalLog:
    """A log with these values from its start on; None is an offset without a record, as a marker has."""
    records: list[FinalRecord] = []
    end = start
    for offset, found in enumerate(values, start):
        end = offset + 1
        if isinstance(found, Value):
            records.append(FinalRecord(offset, found))
        elif found is not None:
            records.append(FinalRecord(offset, *found))
    return FinalLog(partition, start, end, tuple(records))


def send_all(producer: ProducerRecorder, count: int, *, partition: TopicPartition = T0, first: int = 0) -> list[Value]:
    """So many records, acknowledged with the offsets from `first` on."""
    sends: list[PendingSend] = []
    for offset in range(first, first + count):
        sends.append(producer.send(partition))
        sends[-1].ok(offset)
    return [send.value for send in sends]


def found(history: History) -> list[tuple[AnomalyKind, str]]:
    return [(anomaly.kind, anomaly.sentence) for anomaly in check(history)]


def kinds(history: History) -> list[AnomalyKind]:
    return [anomaly.kind for anomaly in check(history)]


def kinds_in(recorder: Recorder, *logs: FinalLog, **options: object) -> Sequence[AnomalyKind]:
    return kinds(recorder.history(logs, **options))  # type: ignore[arg-type]
