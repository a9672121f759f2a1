"""What clients write down becomes a history."""

import pytest

from harness.histories import T0, final_log
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import DURABLE, Outcome, ProducerKind, Recorder, TransactionResult, Value
from ottla.testing.history.operations import Assignment, Poll, PolledRecord, Seek, Send


def test_a_send_is_written_down_with_its_outcome() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", ProducerKind.IDEMPOTENT)
    acknowledged, failed, _unknown = producer.send(T0), producer.send(T0), producer.send(T0)
    failed.fail()
    acknowledged.ok(7)
    assert recorder.history([]).sends == [
        Send(Value("p", 0), T0, 1, 5, Outcome.OK, 7, None),
        Send(Value("p", 1), T0, 2, 4, Outcome.FAIL, None, None),
        Send(Value("p", 2), T0, 3, None, Outcome.INFO, None, None),
    ]


def test_sends_belong_to_the_transaction_that_was_begun_last() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", ProducerKind.TRANSACTIONAL)
    producer.begin().end(TransactionResult.ABORTED)
    transaction = producer.begin()
    send = producer.send(T0)
    transaction.invoke_commit()
    history = recorder.history([])
    assert send.transaction == 1
    assert [one.result for one in history.transactions] == [TransactionResult.ABORTED, TransactionResult.UNKNOWN]
    assert [one.commit_invoked for one in history.transactions] == [None, 3]


def test_a_consumer_is_written_down_in_its_own_order() -> None:
    recorder = Recorder()
    consumer = recorder.consumer("c", IsolationLevel.READ_COMMITTED)
    consumer.assign("g", 1, [T0])
    consumer.seek(T0, 3)
    consumer.poll(T0, [(3, Value("p", 0))])
    history = recorder.history([])
    assert history.consumers["c"].isolation is IsolationLevel.READ_COMMITTED
    assert history.consumers["c"].events == (
        Assignment("g", 1, 1, (T0,)),
        Seek(T0, 2, 3),
        Poll(T0, 3, (PolledRecord(3, Value("p", 0)),)),
    )


def test_times_are_those_of_the_clock_that_is_given() -> None:
    now = 100
    recorder = Recorder(lambda: now)
    commit = recorder.commit_offset("g", T0, 5)
    now = 250
    commit.ok()
    recorder.saw_end_offset(T0, IsolationLevel.READ_UNCOMMITTED, 9, invoked=200)
    recorder.saw_committed_offset("g", T0, 5, invoked=210)
    history = recorder.history([final_log([])])
    assert [(one.invoked, one.ended) for one in history.offset_commits] == [(100, 250)]
    assert [(one.invoked, one.ended) for one in history.end_offsets] == [(200, 250)]
    assert [(one.invoked, one.ended) for one in history.offset_fetches] == [(210, 250)]
    assert history.promise(T0) == DURABLE


def test_two_clients_do_not_share_a_name() -> None:
    recorder = Recorder()
    recorder.producer("p", ProducerKind.IDEMPOTENT)
    with pytest.raises(AssertionError):
        recorder.producer("p", ProducerKind.ACKS_1)
