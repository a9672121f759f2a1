"""Hand-made histories in which a partition ends before where it ended."""

from harness.histories import T0, final_log, found, kinds_in, send_all
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import AnomalyKind, ProducerKind, Promise, Recorder

UNCOMMITTED, COMMITTED = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED
WENT_BACK = AnomalyKind.END_OFFSET_WENT_BACK


def ask(
    recorder: Recorder, offset: int, isolation: IsolationLevel = UNCOMMITTED, *, invoked: int | None = None
) -> None:
    recorder.saw_end_offset(T0, isolation, offset, invoked=recorder.now() if invoked is None else invoked)


def test_an_end_that_grows_is_right() -> None:
    recorder = Recorder()
    for offset in (0, 3, 3, 5):
        ask(recorder, offset)
        ask(recorder, offset - offset % 2, COMMITTED)
    assert kinds_in(recorder) == []


def test_an_end_that_goes_back_is_told_with_both_answers() -> None:
    recorder = Recorder()
    ask(recorder, 5)
    ask(recorder, 4)
    assert found(recorder.history([])) == [
        (
            WENT_BACK,
            "t-0 ended at 4 for a client with read_uncommitted that asked at 3 and was told at 4, but reached 5 for "
            "the client that was told at 2",
        )
    ]


def test_answers_to_questions_that_overlap_may_come_in_any_order() -> None:
    recorder = Recorder()
    asked = recorder.now()
    ask(recorder, 5)
    ask(recorder, 4, invoked=asked)
    assert kinds_in(recorder) == []


def test_an_acknowledged_record_lies_before_the_end() -> None:
    recorder = Recorder()
    values = send_all(recorder.producer("p", ProducerKind.IDEMPOTENT), 3)
    ask(recorder, 2)
    # An open transaction may hold the last stable offset back.
    ask(recorder, 0, COMMITTED)
    assert kinds_in(recorder, final_log(values)) == [WENT_BACK]


def test_a_record_that_only_the_leader_has_acknowledged_may_lie_behind_the_end() -> None:
    recorder = Recorder()
    values = send_all(recorder.producer("p", ProducerKind.ACKS_1), 3)
    ask(recorder, 2)
    assert kinds_in(recorder, final_log(values)) == []


def test_a_record_that_was_read_lies_before_the_end_of_its_level() -> None:
    recorder = Recorder()
    values = send_all(recorder.producer("p", ProducerKind.ACKS_1), 3)
    recorder.consumer("c", COMMITTED).poll(T0, enumerate(values))
    ask(recorder, 1, COMMITTED)
    ask(recorder, 2, UNCOMMITTED)
    assert kinds_in(recorder, final_log(values)) == [WENT_BACK, WENT_BACK]


def test_the_final_log_does_not_end_earlier_either() -> None:
    recorder = Recorder()
    ask(recorder, 3)
    assert kinds_in(recorder, final_log([None, None])) == [WENT_BACK]
    assert kinds_in(recorder, final_log([None, None, None])) == []


def test_what_may_be_lost_may_go_back_as_far_as_it_was_flushed() -> None:
    recorder = Recorder()
    ask(recorder, 5)
    ask(recorder, 3)
    assert kinds_in(recorder, promises={T0: Promise(keeps_acks_all=False, flushed_offset=3)}) == []
    assert kinds_in(recorder, promises={T0: Promise(keeps_acks_all=False, flushed_offset=4)}) == [WENT_BACK]
