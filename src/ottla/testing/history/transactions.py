"""Transactions are whole: all of their records become visible, in all partitions, or none does.

What a producer was told decides, where it was told anything: all of a committed transaction is there, nothing of an
aborted one shows. Where the end is unknown it may have gone either way, but for all records alike.

A record shows if the final log has it as committed, or if a consumer with read_committed got it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ottla.client.offsets import IsolationLevel
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.history import History
from ottla.testing.history.observed_log import Logs, polls
from ottla.testing.history.operations import (
    Send,
    Transaction,
    TransactionResult,
    Value,
)
from ottla.testing.history.writes import lost_write


@dataclass(frozen=True, slots=True)
class _Sighting:
    """The first time that a consumer with read_committed got a record."""

    consumer: str
    at: int

    def __str__(self) -> str:
        return f"{self.consumer}'s poll at {self.at}"


def find_torn_transactions(history: History, logs: Logs) -> Iterator[Anomaly]:
    """Transactions that are not whole, or showed before their commit was asked for."""
    members: dict[tuple[str, int], list[Send]] = {}
    for send in history.sends:
        if send.transaction is not None:
            members.setdefault((send.value.producer, send.transaction), []).append(send)
    transactions = {(one.producer, one.number): one for one in history.transactions}
    sightings = _committed_sightings(history)
    for (producer, number), sends in members.items():
        # Nothing is known of the end of a transaction that was not recorded: as if its producer had died in it.
        unknown = Transaction(producer, number, None, None, TransactionResult.UNKNOWN)
        transaction = transactions.get((producer, number), unknown)
        yield from _judge(history, logs, transaction, sends, sightings)


def _committed_sightings(history: History) -> dict[Value, _Sighting]:
    committed = {
        name for name, consumer in history.consumers.items() if consumer.isolation is IsolationLevel.READ_COMMITTED
    }
    found: dict[Value, _Sighting] = {}
    for consumer, poll in polls(history):
        if consumer in committed:
            for _, value in poll.records:
                known = found.get(value)
                if known is None or poll.at < known.at:
                    found[value] = _Sighting(consumer, poll.at)
    return found


def _judge(
    history: History,
    logs: Logs,
    transaction: Transaction,
    sends: Sequence[Send],
    sightings: Mapping[Value, _Sighting],
) -> Iterator[Anomaly]:
    # Where a log may have lost a marker, the next one decides about records that it was not written for.
    judged = [send for send in sends if logs[send.partition].promise.keeps_acks_all]
    shown = list(_shown(logs, judged, sightings))
    is_committed = transaction.result is TransactionResult.COMMITTED
    if not (shown or is_committed):
        return
    if transaction.result is TransactionResult.ABORTED:
        yield _torn(transaction, f"was aborted, but shows {', '.join(shown)}")
        return
    if transaction.commit_invoked is None and not is_committed:
        yield _torn(transaction, f"shows {', '.join(shown)}, though nobody asked for its commit")
        return
    early = [f"{send.value} in {sightings[send.value]}" for send in judged if _is_early(transaction, send, sightings)]
    if early:
        yield _torn(
            transaction, f"showed {', '.join(early)}, before {transaction.commit_invoked}, when its commit was invoked"
        )
    hidden = list(_hidden(logs, judged)) if history.keeps_coordinator_state else []
    kind = history.producers[transaction.producer]
    lost = [send for send in sends if logs[send.partition].has_lost(send, kind)]
    if hidden:
        proof = "" if is_committed else f", though {shown[0]} shows"
        yield _torn(transaction, f"has in the end {', '.join(hidden)}{proof}")
    if lost and (shown or hidden):
        yield _torn(transaction, f"lacks {', '.join(map(str, lost))}; of the rest there is {(shown or hidden)[0]}")
    elif lost:
        for send in lost:
            yield lost_write(send, logs[send.partition])


def _is_early(transaction: Transaction, send: Send, sightings: Mapping[Value, _Sighting]) -> bool:
    sighting = sightings.get(send.value)
    return sighting is not None and transaction.commit_invoked is not None and sighting.at < transaction.commit_invoked


def _shown(logs: Logs, sends: Sequence[Send], sightings: Mapping[Value, _Sighting]) -> Iterator[str]:
    for send in sends:
        record = logs[send.partition].final_records.get(send.value)
        if record is not None and record.state.is_visible:
            yield f"{send.value} at offset {record.offset} of {send.partition}"
        elif send.value in sightings:
            yield f"{send.value} in {sightings[send.value]}"


def _hidden(logs: Logs, sends: Sequence[Send]) -> Iterator[str]:
    for send in sends:
        record = logs[send.partition].final_records.get(send.value)
        if record is not None and not record.state.is_visible:
            yield f"{send.value} at offset {record.offset} of {send.partition} {record.state.value}"


def _torn(transaction: Transaction, what: str) -> Anomaly:
    return Anomaly(AnomalyKind.TORN_TRANSACTION, f"{transaction} {what}")
