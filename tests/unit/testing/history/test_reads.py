"""Hand-made histories of consumers that skip records or get them again."""

from harness.histories import T0, T1, final_log, found, kinds_in, send_all
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import (
    AnomalyKind,
    FinalLog,
    ProducerKind,
    Promise,
    Recorder,
    RecordState,
    TransactionResult,
    Value,
)
from ottla.testing.history.recorder import ConsumerRecorder


def make_log(
    count: int, isolation: IsolationLevel
) -> tuple[Recorder, ConsumerRecorder, list[tuple[int, Value]], FinalLog]:
    recorder = Recorder()
    values = send_all(recorder.producer("p", ProducerKind.IDEMPOTENT), count)
    return recorder, recorder.consumer("c", isolation), list(enumerate(values)), final_log(values)


def test_a_consumer_that_gets_all_in_order_is_right() -> None:
    recorder, consumer, records, log = make_log(5, IsolationLevel.READ_COMMITTED)
    consumer.poll(T0, records[:2])
    consumer.poll(T0, records[2:])
    assert kinds_in(recorder, log) == []


def test_a_record_that_a_consumer_never_gets_is_skipped() -> None:
    recorder, consumer, records, log = make_log(4, IsolationLevel.READ_UNCOMMITTED)
    consumer.poll(T0, records[:1])
    consumer.poll(T0, records[2:])
    assert found(recorder.history([log])) == [
        (AnomalyKind.POLL_SKIP, "c's poll at 10 went on from offset 1 to 2 (p:2) of t-0, past p:1 at 1")
    ]


def test_what_lies_between_a_seek_and_the_first_record_is_skipped_too() -> None:
    recorder, consumer, records, log = make_log(4, IsolationLevel.READ_UNCOMMITTED)
    consumer.seek(T0, 1)
    consumer.poll(T0, records[2:])
    assert kinds_in(recorder, log) == [AnomalyKind.POLL_SKIP]


def test_a_record_that_comes_again_is_not_monotonic() -> None:
    recorder, consumer, records, log = make_log(3, IsolationLevel.READ_UNCOMMITTED)
    consumer.poll(T0, records)
    consumer.poll(T0, records[2:])
    assert found(recorder.history([log])) == [
        (
            AnomalyKind.NONMONOTONIC_POLL,
            "c's poll at 8 went back to offset 2 (p:2) of t-0, though it was at 3 already",
        )
    ]


def test_a_consumer_may_seek_anywhere() -> None:
    recorder, consumer, records, log = make_log(5, IsolationLevel.READ_UNCOMMITTED)
    consumer.poll(T0, records[:2])
    consumer.seek(T0, 4)
    consumer.poll(T0, records[4:])
    consumer.seek(T0, None)
    consumer.poll(T0, records[1:2])
    assert kinds_in(recorder, log) == []


def test_markers_and_aborted_records_are_passed_over() -> None:
    recorder = Recorder()
    producer = recorder.producer("p", ProducerKind.TRANSACTIONAL)
    aborted = producer.begin()
    (void,) = send_all(producer, 1)
    aborted.end(TransactionResult.ABORTED)
    committed = producer.begin()
    (value,) = send_all(producer, 1, first=2)
    committed.invoke_commit()
    committed.end(TransactionResult.COMMITTED)
    log = final_log([(void, RecordState.ABORTED), None, (value, RecordState.COMMITTED)])
    consumer = recorder.consumer("c", IsolationLevel.READ_COMMITTED)
    consumer.seek(T0, 0)
    consumer.poll(T0, [(2, value)])
    assert kinds_in(recorder, log) == []
    other = recorder.consumer("u", IsolationLevel.READ_UNCOMMITTED)
    other.seek(T0, 0)
    other.poll(T0, [(2, value)])
    assert kinds_in(recorder, log) == [AnomalyKind.POLL_SKIP]


def test_a_partition_that_is_new_to_a_member_is_read_from_anywhere_and_the_others_go_on() -> None:
    recorder, consumer, records, log = make_log(5, IsolationLevel.READ_UNCOMMITTED)
    consumer.assign("g", 1, [T0])
    consumer.poll(T0, records[:1])
    consumer.assign("g", 2, [T0, T1])
    consumer.poll(T0, records[1:2])
    consumer.assign("g", 3, [T1])
    consumer.assign("g", 4, [T0, T1])
    consumer.poll(T0, records[4:])
    assert kinds_in(recorder, log) == []
    consumer.assign("g", 5, [T0])
    consumer.poll(T0, records[3:4])
    assert kinds_in(recorder, log) == [AnomalyKind.NONMONOTONIC_POLL]


def test_what_retention_or_a_power_cut_took_is_not_skipped() -> None:
    recorder, consumer, records, log = make_log(4, IsolationLevel.READ_UNCOMMITTED)
    consumer.poll(T0, records[:1])
    consumer.poll(T0, records[2:])
    values = [value for _, value in records]
    assert kinds_in(recorder, final_log(values[2:], start=2)) == []
    assert kinds_in(recorder, log, promises={T0: Promise(keeps_acks_all=False, flushed_offset=1)}) == []
