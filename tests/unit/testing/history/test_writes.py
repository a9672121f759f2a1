"""Hand-made histories in which records are lost, doubled, out of order, or from nowhere."""

import pytest

from harness.histories import T0, T1, final_log, found, kinds_in, send_all
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import AnomalyKind, ProducerKind, Promise, Recorder, Value

IDEMPOTENT = ProducerKind.IDEMPOTENT


def test_what_was_acknowledged_and_is_there_is_right() -> None:
    recorder = Recorder()
    values = send_all(recorder.producer("p", IDEMPOTENT), 3)
    assert kinds_in(recorder, final_log(values)) == []


def test_an_acknowledged_record_that_is_not_in_the_final_log_is_lost() -> None:
    recorder = Recorder()
    first, _lost, last = send_all(recorder.producer("p", IDEMPOTENT), 3)
    assert found(recorder.history([final_log([first, None, last])])) == [
        (
            AnomalyKind.LOST_WRITE,
            "the send of p:1 to t-0 (invoked at 3, ok at 4 with offset 1) is not in the final log, offsets 0 to 3",
        )
    ]


def test_records_below_the_log_start_were_deleted_and_are_not_lost() -> None:
    recorder = Recorder()
    values = send_all(recorder.producer("p", IDEMPOTENT), 3)
    assert kinds_in(recorder, final_log(values[2:], start=2)) == []


def test_a_record_of_which_nobody_heard_may_be_there_or_not() -> None:
    recorder = Recorder()
    send = recorder.producer("p", IDEMPOTENT).send(T0)
    assert kinds_in(recorder, final_log([])) == []
    assert kinds_in(recorder, final_log([send.value])) == []


@pytest.mark.parametrize(
    ("kind", "promise", "is_anomaly"),
    [
        (ProducerKind.ACKS_ALL, Promise(), True),
        (ProducerKind.ACKS_1, Promise(), True),
        (ProducerKind.ACKS_ALL, Promise(keeps_acks_1=False), True),
        (ProducerKind.ACKS_1, Promise(keeps_acks_1=False), False),
        (ProducerKind.ACKS_ALL, Promise(keeps_acks_all=False), False),
        (ProducerKind.ACKS_ALL, Promise(keeps_acks_all=False, flushed_offset=1), True),
    ],
)
def test_the_promise_says_which_acknowledged_records_may_go(
    kind: ProducerKind, promise: Promise, is_anomaly: bool
) -> None:
    recorder = Recorder()
    send_all(recorder.producer("p", kind), 1)
    # Retention kept the end offset where it was.
    assert (AnomalyKind.LOST_WRITE in kinds_in(recorder, final_log([None]), promises={T0: promise})) is is_anomaly


def test_a_value_of_an_idempotent_producer_that_is_there_twice_is_a_duplicate() -> None:
    recorder = Recorder()
    first, second = send_all(recorder.producer("p", IDEMPOTENT), 2)
    assert found(recorder.history([final_log([first, second, first])])) == [
        (AnomalyKind.DUPLICATE, "p:0, sent once to t-0, is there at the offsets 0 and 2")
    ]


def test_a_producer_without_idempotence_may_write_twice_and_out_of_order() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", ProducerKind.ACKS_ALL)
    first, second = producer.send(T0), producer.send(T0)
    second.ok(0)
    first.ok(1)
    assert kinds_in(recorder, final_log([second.value, first.value, first.value])) == []


def test_values_of_one_producer_in_another_order_are_reordered() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", IDEMPOTENT)
    first, second = producer.send(T0), producer.send(T0)
    assert found(recorder.history([final_log([second.value, first.value])])) == [
        (AnomalyKind.REORDERED, "p sent 0 before 1, but in t-0 they are at the offsets 1 and 0")
    ]


def test_two_partitions_have_orders_of_their_own() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", IDEMPOTENT)
    first, second = producer.send(T0), producer.send(T1)
    logs = final_log([first.value]), final_log([second.value], partition=T1)
    assert kinds_in(recorder, *logs) == []


def test_a_value_that_nobody_sent_is_a_phantom() -> None:
    recorder = Recorder()
    recorder.producer("p", IDEMPOTENT)
    assert found(recorder.history([final_log([Value("p", 7)])])) == [
        (AnomalyKind.PHANTOM, "p:7 is at offset 0 of t-0, but nobody sent it")
    ]


def test_a_value_whose_send_surely_failed_is_a_phantom() -> None:
    recorder = Recorder()
    send = recorder.producer("p", IDEMPOTENT).send(T0)
    send.fail()
    assert kinds_in(recorder, final_log([send.value])) == [AnomalyKind.PHANTOM]


def test_a_value_in_another_partition_is_a_phantom_there() -> None:
    recorder = Recorder()
    send = recorder.producer("p", IDEMPOTENT).send(T1)
    assert kinds_in(recorder, final_log([send.value])) == [AnomalyKind.PHANTOM]


def test_a_phantom_in_a_poll_is_told_once() -> None:
    recorder = Recorder()
    for name in ("a", "b"):
        recorder.consumer(name, IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, Value("p", 0))])
    phantoms = [sentence for kind, sentence in found(recorder.history([])) if kind is AnomalyKind.PHANTOM]
    assert phantoms == ["p:0 is in a's poll at 1, offset 0 of t-0, but nobody sent it"]


def test_a_value_that_was_read_before_it_was_sent_is_a_phantom() -> None:
    recorder = Recorder()
    recorder.consumer("c", IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, Value("p", 0))])
    send = recorder.producer("p", IDEMPOTENT).send(T0)
    assert kinds_in(recorder, final_log([send.value])) == [AnomalyKind.PHANTOM]


def test_a_history_with_a_value_twice_is_none() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", IDEMPOTENT)
    producer.sends += [producer.send(T0)]
    with pytest.raises(AssertionError):
        kinds_in(recorder)
