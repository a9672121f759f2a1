"""Hand-made histories of a copy that consumes and produces in transactions."""

import pytest

from harness.histories import T0, T1, final_log, found, kinds, send_all
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history import AnomalyKind, FinalCopy, History, ProducerKind, Promise, Recorder, RecordState, Value

TARGET = TopicPartition("copies", 0)
OTHER_TARGET = TopicPartition("copies", 1)


class Story:
    """A source with three records, the second of which is aborted, and what a group has copied of it."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.first, self.aborted, self.last = send_all(self.recorder.producer("p", ProducerKind.IDEMPOTENT), 3)

    def history(self, committed: int | None, *copied: Value, **options: object) -> History:
        log = final_log([self.first, (self.aborted, RecordState.ABORTED), self.last])
        copy = FinalCopy("g", {T0: committed, T1: None}, {TARGET: copied[:1], OTHER_TARGET: copied[1:]})
        return self.recorder.history([log], copies=[copy], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("committed", [None, 0])
def test_a_copy_that_has_done_nothing_is_right(committed: int | None) -> None:
    assert kinds(Story().history(committed)) == []


@pytest.mark.parametrize("committed", [1, 2])
def test_a_copy_of_all_that_is_visible_below_the_committed_offset_is_right(committed: int) -> None:
    story = Story()
    assert kinds(story.history(committed, story.first)) == []


def test_a_visible_record_below_the_committed_offset_that_was_not_copied_is_told() -> None:
    story = Story()
    assert found(story.history(3, story.last)) == [
        (AnomalyKind.COPY_SKIP, "p:0 at offset 0 of t-0 was not copied by g, which has committed offset 3")
    ]


def test_a_copy_whose_offset_was_not_committed_is_told() -> None:
    story = Story()
    assert found(story.history(1, story.first, story.last)) == [
        (AnomalyKind.COPY_AHEAD, "p:2 at offset 2 of t-0 was copied by g, which has committed offset 1")
    ]


def test_a_record_that_was_copied_twice_is_told() -> None:
    story = Story()
    assert found(story.history(1, story.first, story.first)) == [(AnomalyKind.DUPLICATE, "p:0 was copied 2 times by g")]


def test_a_copy_of_an_aborted_record_is_told() -> None:
    story = Story()
    assert found(story.history(3, story.first, story.aborted, story.last)) == [
        (AnomalyKind.PHANTOM, "p:1 was copied by g and is not visible in the source")
    ]


@pytest.mark.parametrize("lossy", [T0, TARGET])
def test_nothing_is_said_of_a_copy_whose_source_or_target_may_have_lost_something(lossy: TopicPartition) -> None:
    story = Story()
    promises = {lossy: Promise(keeps_acks_all=False)}
    assert kinds(story.history(3, story.aborted, promises=promises)) == []


def test_nothing_is_said_of_a_copy_whose_committed_offset_may_have_been_lost() -> None:
    story = Story()
    assert kinds(story.history(3, story.aborted, keeps_coordinator_state=False)) == []
