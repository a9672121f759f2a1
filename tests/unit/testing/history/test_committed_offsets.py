"""Hand-made histories of groups whose committed offset is not what was committed last."""

from harness.histories import T0, T1, found, kinds_in
from ottla.testing.history import AnomalyKind, Recorder

GROUP = "g"
WENT_BACK, PHANTOM = AnomalyKind.COMMITTED_OFFSET_WENT_BACK, AnomalyKind.PHANTOM_COMMITTED_OFFSET


def commit(recorder: Recorder, offset: int | None) -> None:
    recorder.commit_offset(GROUP, T0, offset).ok()


def fetch(recorder: Recorder, offset: int | None) -> None:
    recorder.saw_committed_offset(GROUP, T0, offset, invoked=recorder.now())


def test_who_asks_gets_what_was_committed_last() -> None:
    recorder = Recorder()
    fetch(recorder, None)
    for offset in (5, 7, 3, None, 4):
        commit(recorder, offset)
        fetch(recorder, offset)
    assert kinds_in(recorder) == []


def test_an_offset_that_was_overwritten_went_back() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    commit(recorder, 7)
    fetch(recorder, 5)
    assert found(recorder.history([])) == [
        (
            WENT_BACK,
            "the committed offset of g in t-0 was 5 for a client that asked at 5, but that is older than the commit of "
            "offset 7 (invoked at 3, ok at 4)",
        )
    ]


def test_a_commit_that_was_acknowledged_and_is_not_there_went_back() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    fetch(recorder, None)
    assert kinds_in(recorder) == [WENT_BACK]


def test_an_offset_may_be_deleted() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    commit(recorder, None)
    fetch(recorder, None)
    assert kinds_in(recorder) == []
    fetch(recorder, 5)
    assert kinds_in(recorder) == [WENT_BACK]


def test_commits_that_overlap_may_take_effect_in_any_order() -> None:
    recorder = Recorder()
    first, second = recorder.commit_offset(GROUP, T0, 5), recorder.commit_offset(GROUP, T0, 7)
    first.ok()
    second.ok()
    fetch(recorder, 5)
    assert kinds_in(recorder) == []


def test_a_client_that_asks_while_a_commit_is_under_way_may_get_either() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    later = recorder.commit_offset(GROUP, T0, 7)
    fetch(recorder, 5)
    fetch(recorder, 7)
    later.ok()
    assert kinds_in(recorder) == []


def test_an_unknown_commit_may_take_effect_late_but_not_be_undone() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    recorder.commit_offset(GROUP, T0, 7)
    commit(recorder, 8)
    fetch(recorder, 8)
    fetch(recorder, 7)
    assert kinds_in(recorder) == []
    fetch(recorder, 5)
    assert kinds_in(recorder) == [WENT_BACK]


def test_an_unknown_commit_that_was_read_has_overwritten_what_was_there() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    recorder.commit_offset(GROUP, T0, 7)
    fetch(recorder, 7)
    fetch(recorder, 5)
    assert kinds_in(recorder) == [WENT_BACK]


def test_an_offset_that_nobody_committed_is_a_phantom() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    recorder.commit_offset(GROUP, T1, 6).ok()
    recorder.commit_offset("other", T0, 6).ok()
    fetch(recorder, 6)
    assert found(recorder.history([])) == [
        (
            PHANTOM,
            "the committed offset of g in t-0 was 6 for a client that asked at 7, but nobody committed that",
        )
    ]


def test_an_offset_whose_commit_surely_failed_is_a_phantom() -> None:
    recorder = Recorder()
    recorder.commit_offset(GROUP, T0, 6).fail()
    fetch(recorder, 6)
    assert kinds_in(recorder) == [PHANTOM]


def test_an_offset_that_was_read_before_it_was_committed_is_a_phantom() -> None:
    recorder = Recorder()
    fetch(recorder, 6)
    commit(recorder, 6)
    assert kinds_in(recorder) == [PHANTOM]


def test_where_the_offsets_may_be_lost_they_may_go_back_but_not_come_from_nowhere() -> None:
    recorder = Recorder()
    commit(recorder, 5)
    fetch(recorder, None)
    fetch(recorder, 6)
    assert kinds_in(recorder, keeps_coordinator_state=False) == [PHANTOM]
