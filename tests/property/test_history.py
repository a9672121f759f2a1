"""The history checker says nothing against a correct cluster, and finds every anomaly that is put into its history."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.correct_cluster import CorrectCluster, with_final_records
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history import (
    AnomalyKind,
    FinalCopy,
    FinalRecord,
    History,
    Outcome,
    Promise,
    RecordState,
    TransactionResult,
    Value,
    check,
)
from ottla.testing.history.history import ConsumerHistory
from ottla.testing.history.operations import Assignment, Poll, PolledRecord, Send

STEPS = 400
SEEDS = st.integers(0, 1 << 32)


Item = TypeVar("Item")


def choose(chance: random.Random, items: list[Item]) -> Item:
    assume(items)
    return chance.choice(items)


def records_of(history: History) -> list[tuple[TopicPartition, FinalRecord]]:
    return [(partition, record) for partition, log in history.final_logs.items() for record in log.records]


def sends_of(history: History) -> dict[Value, Send]:
    return {send.value: send for send in history.sends}


def without(history: History, partition: TopicPartition, record: FinalRecord) -> History:
    kept = [one for one in history.final_logs[partition].records if one != record]
    return with_final_records(history, partition, kept)


def with_poll(history: History, name: str, place: int, *polls: Poll) -> History:
    """The same history with other polls in the place of one."""
    consumer = history.consumers[name]
    events = [*consumer.events[:place], *polls, *consumer.events[place + 1 :]]
    return replace(history, consumers={**history.consumers, name: ConsumerHistory(consumer.isolation, events)})


def polls_of(history: History) -> list[tuple[str, int, Poll]]:
    return [
        (name, place, event)
        for name, consumer in history.consumers.items()
        for place, event in enumerate(consumer.events)
        if isinstance(event, Poll)
    ]


def lose_a_write(history: History, chance: random.Random) -> History:
    sends = sends_of(history)
    acknowledged = [
        (partition, record)
        for partition, record in records_of(history)
        if sends[record.value].offset == record.offset and record.value.producer == "idempotent"
    ]
    return without(history, *choose(chance, acknowledged))


def write_twice(history: History, chance: random.Random) -> History:
    found = [place for place in records_of(history) if place[1].value.producer == "idempotent"]
    partition, record = choose(chance, found)
    log = history.final_logs[partition]
    return with_final_records(history, partition, [*log.records, record._replace(offset=log.end_offset)])


def swap_two_writes(history: History, chance: random.Random) -> History:
    pairs = []
    for partition, log in history.final_logs.items():
        own = [record for record in log.records if record.value.producer == "idempotent"]
        pairs += [(partition, first, second) for first, second in itertools.pairwise(own)]
    partition, first, second = choose(chance, pairs)
    swapped = {first: first._replace(value=second.value), second: second._replace(value=first.value)}
    records = [swapped.get(record, record) for record in history.final_logs[partition].records]
    return with_final_records(history, partition, records)


def write_what_nobody_sent(history: History, chance: random.Random) -> History:
    partition = chance.choice(list(history.final_logs))
    log = history.final_logs[partition]
    return with_final_records(
        history, partition, [*log.records, FinalRecord(log.end_offset, Value("nobody", chance.randint(0, 9)))]
    )


def write_what_failed(history: History, chance: random.Random) -> History:
    send = choose(chance, [send for send in history.sends if send.outcome is Outcome.FAIL])
    log = history.final_logs[send.partition]
    return with_final_records(history, send.partition, [*log.records, FinalRecord(log.end_offset, send.value)])


def turn(history: History, chance: random.Random, result: TransactionResult, state: RecordState) -> History:
    """Give one record of a transaction with a known result another state."""
    sends = sends_of(history)
    known = {(one.producer, one.number) for one in history.transactions if one.result is result}
    found = [
        (partition, record)
        for partition, record in records_of(history)
        if (record.value.producer, sends[record.value].transaction) in known
    ]
    partition, turned = choose(chance, found)
    records = [
        record._replace(state=state) if record == turned else record for record in history.final_logs[partition].records
    ]
    return with_final_records(history, partition, records)


def abort_a_record_of_a_committed_transaction(history: History, chance: random.Random) -> History:
    return turn(history, chance, TransactionResult.COMMITTED, RecordState.ABORTED)


def commit_a_record_of_an_aborted_transaction(history: History, chance: random.Random) -> History:
    return turn(history, chance, TransactionResult.ABORTED, RecordState.COMMITTED)


def lose_a_record_of_a_committed_transaction(history: History, chance: random.Random) -> History:
    sends = sends_of(history)
    committed = {
        (one.producer, one.number) for one in history.transactions if one.result is TransactionResult.COMMITTED
    }
    members: dict[tuple[str, int | None], list[tuple[TopicPartition, FinalRecord]]] = {}
    for partition, record in records_of(history):
        key = (record.value.producer, sends[record.value].transaction)
        if key in committed:
            members.setdefault(key, []).append((partition, record))
    several = [places for places in members.values() if len(places) > 1]
    return without(history, *choose(chance, choose(chance, several)))


def read_another_value(history: History, chance: random.Random) -> History:
    polls = [found for found in polls_of(history) if len(found[2].records) > 1]
    name, place, poll = choose(chance, polls)
    first, second, *rest = poll.records
    assume(first.value != second.value)
    records = (PolledRecord(first.offset, second.value), second, *rest)
    return with_poll(history, name, place, replace(poll, records=records))


def forget_what_was_read(history: History, chance: random.Random) -> History:
    _, _, poll = choose(chance, polls_of(history))
    read = [record for record in history.final_logs[poll.partition].records if (record[0], record[1]) in poll.records]
    return without(history, poll.partition, choose(chance, read))


def leave_one_out(history: History, chance: random.Random) -> History:
    found = []
    for name, place, poll in polls_of(history):
        kept = {record.offset for record in history.final_logs[poll.partition].records}
        # What lies below the start of the log is not judged.
        if len(poll.records) > 2 and poll.records[1].offset in kept:
            found.append((name, place, poll))
    name, place, poll = choose(chance, found)
    return with_poll(history, name, place, replace(poll, records=(poll.records[0], *poll.records[2:])))


def read_again(history: History, chance: random.Random) -> History:
    name, place, poll = choose(chance, polls_of(history))
    return with_poll(history, name, place, poll, poll)


def tell_an_end_of_zero(history: History, chance: random.Random) -> History:
    found = [
        (place, answer)
        for place, answer in enumerate(history.end_offsets)
        if any(
            before.ended < answer.invoked
            and before.offset > 0
            and (before.partition, before.isolation) == (answer.partition, answer.isolation)
            for before in history.end_offsets
        )
    ]
    place, answer = choose(chance, found)
    answers = list(history.end_offsets)
    answers[place] = replace(answer, offset=0)
    return replace(history, end_offsets=answers)


def forget_a_committed_offset(history: History, chance: random.Random) -> History:
    found = [
        place
        for place, fetch in enumerate(history.offset_fetches)
        if any(
            commit.outcome is Outcome.OK and commit.ended is not None and commit.ended < fetch.invoked
            for commit in history.offset_commits
            if commit.partition == fetch.partition and commit.offset is not None
        )
        and not any(commit.offset is None and commit.partition == fetch.partition for commit in history.offset_commits)
    ]
    return with_fetched(history, choose(chance, found), None)


def tell_an_offset_that_nobody_committed(history: History, chance: random.Random) -> History:
    return with_fetched(history, choose(chance, list(range(len(history.offset_fetches)))), 1 << 40)


def with_fetched(history: History, place: int, offset: int | None) -> History:
    fetches = list(history.offset_fetches)
    fetches[place] = replace(fetches[place], offset=offset)
    return replace(history, offset_fetches=fetches)


def assign_to_the_other_one_too(history: History, chance: random.Random) -> History:
    assigned = [event for event in history.consumers["m1"].events if isinstance(event, Assignment) and event.partitions]
    event = choose(chance, assigned)
    other = history.consumers["m2"]
    consumers = {**history.consumers, "m2": replace(other, events=[*other.events, event])}
    return replace(history, consumers=consumers)


def find_visible(history: History) -> dict[Value, tuple[TopicPartition, int]]:
    """Where each visible value is; a plain producer may have written one twice."""
    return {
        record.value: (partition, record.offset)
        for partition, log in history.final_logs.items()
        for record in log.records
        if record.state.is_visible
    }


def copy_everything(history: History) -> History:
    """Adds a group that has copied all that is visible, and committed so."""
    offsets: dict[TopicPartition, int | None] = {
        partition: log.end_offset for partition, log in history.final_logs.items()
    }
    copied = {TopicPartition("copies", 0): tuple(find_visible(history))}
    return replace(history, copies=[FinalCopy("copying", offsets, copied)])


def skip_a_record_in_the_copy(history: History, chance: random.Random) -> History:
    (copy,) = copy_everything(history).copies
    ((target, values),) = copy.copied.items()
    skipped = choose(chance, list(values))
    copied = {target: tuple(value for value in values if value != skipped)}
    return replace(history, copies=[replace(copy, copied=copied)])


def copy_what_is_not_committed(history: History, chance: random.Random) -> History:
    (copy,) = copy_everything(history).copies
    partition, offset = choose(chance, list(find_visible(history).values()))
    return replace(history, copies=[replace(copy, offsets={**copy.offsets, partition: offset})])


INJECTIONS: list[tuple[Callable[[History, random.Random], History], AnomalyKind]] = [
    (lose_a_write, AnomalyKind.LOST_WRITE),
    (write_twice, AnomalyKind.DUPLICATE),
    (swap_two_writes, AnomalyKind.REORDERED),
    (write_what_nobody_sent, AnomalyKind.PHANTOM),
    (write_what_failed, AnomalyKind.PHANTOM),
    (abort_a_record_of_a_committed_transaction, AnomalyKind.TORN_TRANSACTION),
    (commit_a_record_of_an_aborted_transaction, AnomalyKind.TORN_TRANSACTION),
    (lose_a_record_of_a_committed_transaction, AnomalyKind.TORN_TRANSACTION),
    (read_another_value, AnomalyKind.INCONSISTENT_OFFSET),
    (forget_what_was_read, AnomalyKind.VANISHED_READ),
    (leave_one_out, AnomalyKind.POLL_SKIP),
    (read_again, AnomalyKind.NONMONOTONIC_POLL),
    (tell_an_end_of_zero, AnomalyKind.END_OFFSET_WENT_BACK),
    (forget_a_committed_offset, AnomalyKind.COMMITTED_OFFSET_WENT_BACK),
    (tell_an_offset_that_nobody_committed, AnomalyKind.PHANTOM_COMMITTED_OFFSET),
    (assign_to_the_other_one_too, AnomalyKind.TWO_OWNERS),
    (skip_a_record_in_the_copy, AnomalyKind.COPY_SKIP),
    (copy_what_is_not_committed, AnomalyKind.COPY_AHEAD),
]


@settings(max_examples=150)
@given(SEEDS)
def test_a_correct_cluster_has_no_anomaly(seed: int) -> None:
    assert check(copy_everything(CorrectCluster(seed).run(STEPS))) == []


@settings(max_examples=30)
@given(SEEDS)
def test_a_partition_that_promised_nothing_may_lose_its_end(seed: int) -> None:
    history = CorrectCluster(seed).run(STEPS)
    chance = random.Random(seed)
    promises = {}
    logs = {}
    for partition, log in history.final_logs.items():
        flushed = chance.randint(log.start_offset, log.end_offset)
        promises[partition] = Promise(keeps_acks_all=False, keeps_acks_1=False, flushed_offset=flushed)
        records = tuple(record for record in log.records if record.offset < flushed)
        logs[partition] = replace(log, records=records, end_offset=flushed)
    # A marker that is lost leaves a transaction open, or to the next marker.
    assert check(replace(history, final_logs=logs, promises=promises, keeps_coordinator_state=False)) == []


@pytest.mark.parametrize(("inject", "kind"), INJECTIONS, ids=[inject.__name__ for inject, _ in INJECTIONS])
@settings(max_examples=30)
@given(seed=SEEDS)
def test_an_anomaly_is_found(inject: Callable[[History, random.Random], History], kind: AnomalyKind, seed: int) -> None:
    history = inject(CorrectCluster(seed).run(STEPS), random.Random(seed))
    assert kind in {anomaly.kind for anomaly in check(history)}


# What whoever runs a cluster tells, and no history.
TOLD_BY_RUNS = {
    AnomalyKind.STALE_KEY,
    AnomalyKind.LOST_CHANGE,
    AnomalyKind.UNDONE_DELETION,
    AnomalyKind.LOG_START_WENT_BACK,
    AnomalyKind.NO_PROGRESS,
    AnomalyKind.BROKEN_INVARIANT,
    AnomalyKind.NODE_ERROR,
    AnomalyKind.NOT_REPEATABLE,
}


def test_all_kinds_of_anomalies_are_put_in() -> None:
    assert {kind for _, kind in INJECTIONS} == set(AnomalyKind) - TOLD_BY_RUNS
