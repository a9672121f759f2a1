"""When an answer that looks like a loss is believed; the answers are made by hand."""

from collections.abc import Iterable, Mapping

import pytest

from ottla.pipeline.source import cluster_view
from ottla.pipeline.source.cluster_view import ClusterView
from ottla.pipeline.source.offsets import Offsets
from ottla.pipeline.source.options import stream_options
from ottla.protocol.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class ScriptedView(ClusterView):
    """Finds one answer after the other, and the last one for ever."""

    def __init__(self, *answers: Offsets) -> None:
        given = {"kafka.bootstrap.servers": "h:1", "subscribe": "t", "fetchOffset.numRetries": "1"}
        super().__init__(stream_options(given))
        self.answers = list(answers)
        self.asked = 0

    def partitions(self, known: Iterable[TopicPartition] = (), *, must_exist: bool = True) -> frozenset[TopicPartition]:
        self.asked += 1
        return frozenset(self.answers[0])

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_a_broker_that_is_behind_is_asked_until_it_has_caught_up() -> None:
    # More often than fetchOffset.numRetries: what counts is the time.
    view = ScriptedView({T0: 5}, {T0: 5}, {T0: 5, T1: 2}, {T0: 5, T1: 7})
    assert view.latest({T0: 5, T1: 7}) == {T0: 5, T1: 7}
    assert view.asked == 4


def test_what_is_still_lost_after_a_while_is_believed_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_view, "LOSS_PATIENCE_S", 0.0)
    view = ScriptedView({T0: 5})
    assert view.latest({T0: 5, T1: 7}) == {T0: 5}
    assert view.asked == 2
    assert view.latest({T0: 5, T1: 7}) == {T0: 5}
    assert view.asked == 3
    view.answers = [{T0: 4}, {T0: 5}]
    assert view.latest({T0: 5, T1: 7}) == {T0: 5}
    assert view.asked == 5
