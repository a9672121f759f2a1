"""What became of each record that was sent: it is there, once, in order, and nothing else is."""

from collections.abc import Iterator, Mapping

from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.history import History
from ottla.testing.history.observed_log import Logs, ObservedLog, polls
from ottla.testing.history.operations import Outcome, Send, Value


def sends_by_value(history: History) -> dict[Value, Send]:
    """Every send. Values are unique: a history that has one twice is no history."""
    sends = {send.value: send for send in history.sends}
    assert len(sends) == len(history.sends), "a value was sent twice"
    return sends


def find_lost_writes(history: History, logs: Logs) -> Iterator[Anomaly]:
    """Records that were acknowledged and are gone. Those of transactions stay or go together, see `transactions`."""
    for send in history.sends:
        log = logs[send.partition]
        if send.transaction is None and log.has_lost(send, history.producers[send.value.producer]):
            yield lost_write(send, log)


def lost_write(send: Send, log: ObservedLog) -> Anomaly:
    assert log.final is not None
    return Anomaly(
        AnomalyKind.LOST_WRITE,
        f"{send} is not in the final log, offsets {log.final.start_offset} to {log.final.end_offset}",
    )


def find_misplaced(history: History, logs: Logs) -> Iterator[Anomaly]:
    """Values of idempotent producers that are there twice, or behind a later one of the same producer."""
    idempotent = {name for name, kind in history.producers.items() if kind.is_idempotent}
    for log in logs.values():
        first_seen: dict[Value, int] = {}
        latest: dict[str, tuple[int, int]] = {}
        for offset, value in sorted(log.values.items()):
            if value.producer not in idempotent:
                continue
            first_offset = first_seen.setdefault(value, offset)
            last_number, last_offset = latest.get(value.producer, (-1, -1))
            if first_offset != offset:
                yield Anomaly(
                    AnomalyKind.DUPLICATE,
                    f"{value}, sent once to {log.partition}, is there at the offsets {first_offset} and {offset}",
                )
            elif value.number < last_number:
                yield Anomaly(
                    AnomalyKind.REORDERED,
                    f"{value.producer} sent {value.number} before {last_number}, but in {log.partition} they are at "
                    f"the offsets {offset} and {last_offset}",
                )
            else:
                latest[value.producer] = (value.number, offset)


def find_phantoms(history: History, sends: Mapping[Value, Send]) -> Iterator[Anomaly]:
    """Values in a log, or in a consumer's hands, that cannot be there."""
    reported: set[tuple[TopicPartition, Value]] = set()

    def is_new(partition: TopicPartition, value: Value) -> bool:
        """A phantom is told once, however many consumers get it."""
        is_first = (partition, value) not in reported
        reported.add((partition, value))
        return is_first

    for partition, final in history.final_logs.items():
        for offset, value, _ in final.records:
            reason = _why_impossible(sends.get(value), partition)
            if reason is not None and is_new(partition, value):
                yield Anomaly(AnomalyKind.PHANTOM, f"{value} is at offset {offset} of {partition}, but {reason}")
    for consumer, poll in polls(history):
        for offset, value in poll.records:
            reason = _why_impossible(sends.get(value), poll.partition, poll.at)
            if reason is not None and is_new(poll.partition, value):
                yield Anomaly(
                    AnomalyKind.PHANTOM,
                    f"{value} is in {consumer}'s poll at {poll.at}, offset {offset} of {poll.partition}, but {reason}",
                )


def _why_impossible(send: Send | None, partition: TopicPartition, read_at: int | None = None) -> str | None:
    if send is None:
        return "nobody sent it"
    if send.partition != partition:
        return f"{send} went elsewhere"
    if send.outcome is Outcome.FAIL:
        return f"{send} surely failed"
    if read_at is not None and read_at < send.invoked:
        return f"{send} came later"
    return None
