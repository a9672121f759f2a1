"""Hand-made histories in which one offset has two values, or a record that was read is gone."""

from harness.histories import T0, final_log, found, kinds_in, send_all
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import AnomalyKind, FinalLog, FinalRecord, ProducerKind, Promise, Recorder

KIND = ProducerKind.ACKS_ALL


def test_two_consumers_that_read_two_values_at_one_offset_disagree() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", KIND)
    first, second = producer.send(T0), producer.send(T0)
    recorder.consumer("a", IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, first.value)])
    recorder.consumer("b", IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, second.value)])
    # The log was not read, or begins later: only the two know what was there.
    for logs in ([], [final_log([], start=5)]):
        assert found(recorder.history(logs)) == [
            (AnomalyKind.INCONSISTENT_OFFSET, "offset 0 of t-0 holds p:1 for b's poll at 4, and p:0 for a's poll at 3")
        ]


def test_a_consumer_that_read_another_value_than_the_final_log_has_disagrees() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", KIND)
    first, second = producer.send(T0), producer.send(T0)
    recorder.consumer("a", IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, first.value)])
    assert kinds_in(recorder, final_log([second.value])) == [AnomalyKind.INCONSISTENT_OFFSET]


def test_a_producer_that_was_told_another_offset_disagrees() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", KIND)
    first, second = send_all(producer, 2)
    assert kinds_in(recorder, final_log([second, first])) == [AnomalyKind.INCONSISTENT_OFFSET] * 2
    assert found(recorder.history([final_log([first, None, second])])) == [
        (
            AnomalyKind.INCONSISTENT_OFFSET,
            "the send of p:1 to t-0 (invoked at 3, ok at 4 with offset 1) is in the final log at offset 2",
        )
    ]


def test_a_final_log_with_two_values_at_one_offset_disagrees_with_itself() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", KIND)
    first, second = producer.send(T0), producer.send(T0)
    log = FinalLog(T0, 0, 1, (FinalRecord(0, first.value), FinalRecord(0, second.value)))
    assert kinds_in(recorder, log) == [AnomalyKind.INCONSISTENT_OFFSET]


def test_a_record_that_was_read_and_is_gone_has_vanished_for_all_who_read_it_at_once() -> None:
    recorder = Recorder()
    send = recorder.producer("p", KIND).send(T0)
    for name in ("a", "b"):
        recorder.consumer(name, IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, send.value)])
    assert found(recorder.history([final_log([None])])) == [
        (
            AnomalyKind.VANISHED_READ,
            "a's poll at 2 found p:0 at offset 0 of t-0; the final log, offsets 0 to 1, has no record there",
        )
    ]


def test_what_may_be_lost_may_be_another_value_afterwards() -> None:
    recorder = Recorder()
    first, second = send_all(recorder.producer("p", KIND), 2)
    third = recorder.producer("q", KIND).send(T0)
    third.ok(1)
    recorder.consumer("a", IsolationLevel.READ_UNCOMMITTED).poll(T0, [(0, first), (1, second)])
    log = final_log([first, third.value])
    assert kinds_in(recorder, log, promises={T0: Promise(keeps_acks_all=False, flushed_offset=1)}) == []
    assert kinds_in(recorder, log) != []
