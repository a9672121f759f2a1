"""One check tells all that is wrong with a history."""

from harness.histories import T0, final_log, send_all
from ottla.client.offsets import IsolationLevel
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.checker import check
from ottla.testing.history.history import History
from ottla.testing.history.operations import ProducerKind
from ottla.testing.history.recorder import Recorder


def test_a_history_in_which_nothing_happened_is_right() -> None:
    assert check(History()) == []


def test_all_anomalies_of_a_history_are_told() -> None:
    recorder = Recorder()
    _lost, kept = send_all(recorder.producer("p", ProducerKind.IDEMPOTENT), 2)
    for name in ("a", "b"):
        recorder.consumer(name, IsolationLevel.READ_COMMITTED).assign("g", 1, [T0])
    recorder.saw_committed_offset("g", T0, 9, invoked=recorder.now())
    assert [anomaly.kind for anomaly in check(recorder.history([final_log([None, kept])]))] == [
        AnomalyKind.LOST_WRITE,
        AnomalyKind.PHANTOM_COMMITTED_OFFSET,
        AnomalyKind.TWO_OWNERS,
    ]


def test_an_anomaly_is_shown_with_its_kind() -> None:
    assert str(Anomaly(AnomalyKind.LOST_WRITE, "p:1 is gone")) == "lost write: p:1 is gone"
