"""Hand-made histories of transactions that are not whole."""

import pytest

from harness.histories import T0, T1, final_log, found, kinds_in, send_all
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import (
    AnomalyKind,
    ProducerKind,
    Promise,
    Recorder,
    RecordState,
    TransactionResult,
    Value,
)

COMMITTED, ABORTED, OPEN = RecordState.COMMITTED, RecordState.ABORTED, RecordState.OPEN
TORN = AnomalyKind.TORN_TRANSACTION


class Story:
    """One transaction with a record in each of two partitions."""

    def __init__(self, result: TransactionResult, *, is_commit: bool = True) -> None:
        self.recorder = Recorder()
        producer = self.recorder.producer("p", ProducerKind.TRANSACTIONAL)
        self.consumer = self.recorder.consumer("c", IsolationLevel.READ_COMMITTED)
        transaction = producer.begin()
        (self.first,) = send_all(producer, 1)
        (self.second,) = send_all(producer, 1, partition=T1)
        if is_commit:
            transaction.invoke_commit()
        if result is not TransactionResult.UNKNOWN:
            transaction.end(result)

    def kinds(self, first: RecordState | None, second: RecordState | None, **options: object) -> list[AnomalyKind]:
        """What is found if the records have these states in the end; None if one is not there."""
        logs = [
            final_log([None if first is None else (self.first, first), None]),
            final_log([None if second is None else (self.second, second), None], partition=T1),
        ]
        return list(kinds_in(self.recorder, *logs, **options))


@pytest.mark.parametrize(
    ("result", "first", "second", "expected"),
    [
        (TransactionResult.COMMITTED, COMMITTED, COMMITTED, []),
        (TransactionResult.COMMITTED, COMMITTED, ABORTED, [TORN]),
        (TransactionResult.COMMITTED, COMMITTED, OPEN, [TORN]),
        (TransactionResult.COMMITTED, ABORTED, ABORTED, [TORN]),
        (TransactionResult.COMMITTED, COMMITTED, None, [TORN]),
        (TransactionResult.COMMITTED, None, None, [AnomalyKind.LOST_WRITE, AnomalyKind.LOST_WRITE]),
        (TransactionResult.ABORTED, ABORTED, ABORTED, []),
        (TransactionResult.ABORTED, ABORTED, COMMITTED, [TORN]),
        (TransactionResult.ABORTED, None, None, []),
        (TransactionResult.UNKNOWN, COMMITTED, COMMITTED, []),
        (TransactionResult.UNKNOWN, ABORTED, ABORTED, []),
        (TransactionResult.UNKNOWN, OPEN, OPEN, []),
        (TransactionResult.UNKNOWN, COMMITTED, ABORTED, [TORN]),
        (TransactionResult.UNKNOWN, COMMITTED, None, [TORN]),
        (TransactionResult.UNKNOWN, None, None, []),
    ],
)
def test_a_transaction_is_whole(
    result: TransactionResult, first: RecordState | None, second: RecordState | None, expected: list[AnomalyKind]
) -> None:
    assert Story(result).kinds(first, second) == expected


def test_a_transaction_is_named_with_what_shows_and_what_does_not() -> None:
    story = Story(TransactionResult.UNKNOWN)
    logs = final_log([(story.first, COMMITTED)]), final_log([(story.second, ABORTED)], partition=T1)
    assert found(story.recorder.history(logs)) == [
        (
            TORN,
            "transaction 0 of p (unknown, ended at None) has in the end p:1 at offset 0 of t-1 aborted, though p:0 at "
            "offset 0 of t-0 shows",
        )
    ]


def test_a_record_of_an_aborted_transaction_that_a_consumer_got_tears_it() -> None:
    story = Story(TransactionResult.ABORTED)
    story.consumer.poll(T0, [(0, story.first)])
    assert story.kinds(ABORTED, ABORTED) == [TORN]


def test_readers_of_uncommitted_records_may_see_everything() -> None:
    story = Story(TransactionResult.ABORTED)
    story.recorder.consumer("u", IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, story.first)])
    assert story.kinds(ABORTED, ABORTED) == []


def test_a_record_that_shows_before_the_commit_is_asked_for_tears_the_transaction() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", ProducerKind.TRANSACTIONAL)
    transaction = producer.begin()
    (value,) = send_all(producer, 1)
    recorder.consumer("c", IsolationLevel.READ_COMMITTED).poll(T0, [(0, value)])
    transaction.invoke_commit()
    transaction.end(TransactionResult.COMMITTED)
    assert kinds_in(recorder, final_log([(value, COMMITTED)])) == [TORN]


def test_a_transaction_that_shows_though_nobody_asked_for_its_commit_is_torn() -> None:
    assert Story(TransactionResult.UNKNOWN, is_commit=False).kinds(COMMITTED, COMMITTED) == [TORN]


def test_where_the_transaction_state_may_be_lost_a_commit_may_become_an_abort() -> None:
    story = Story(TransactionResult.COMMITTED)
    assert story.kinds(COMMITTED, ABORTED, keeps_coordinator_state=False) == []


def test_where_a_partition_may_lose_records_the_rest_of_the_transaction_stays() -> None:
    story = Story(TransactionResult.COMMITTED)
    promises = {T1: Promise(keeps_acks_all=False)}
    assert story.kinds(COMMITTED, None, promises=promises) == []
    assert story.kinds(None, None, promises=promises) == [AnomalyKind.LOST_WRITE]


def test_each_record_belongs_to_the_transaction_in_which_it_was_sent() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", ProducerKind.TRANSACTIONAL)
    values: list[tuple[Value, RecordState] | None] = []
    for number, result in enumerate((TransactionResult.ABORTED, TransactionResult.COMMITTED)):
        transaction = producer.begin()
        (value,) = send_all(producer, 1, first=2 * number)
        transaction.invoke_commit()
        transaction.end(result)
        values += [(value, COMMITTED if result is TransactionResult.COMMITTED else ABORTED), None]
    assert kinds_in(recorder, final_log(values)) == []
