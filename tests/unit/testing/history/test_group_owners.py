"""Hand-made histories of groups in which partitions are assigned."""

from harness.histories import T0, T1, found, kinds_in
from ottla.client.offsets import IsolationLevel
from ottla.testing.history import AnomalyKind, Recorder


def test_a_partition_of_two_members_in_one_generation_is_told_with_both() -> None:
    recorder = Recorder()
    for name in ("a", "b"):
        recorder.consumer(name, IsolationLevel.READ_COMMITTED).assign("g", 3, [T0])
    assert found(recorder.history([])) == [
        (AnomalyKind.TWO_OWNERS, "t-0 was assigned in generation 3 of g to a at 1 and to b at 2")
    ]


def test_generations_groups_and_partitions_are_apart() -> None:
    recorder = Recorder()
    a, b = (recorder.consumer(name, IsolationLevel.READ_COMMITTED) for name in ("a", "b"))
    a.assign("g", 1, [T0])
    b.assign("g", 1, [T1])
    a.assign("g", 2, [])
    b.assign("g", 2, [T0, T1])
    b.assign("g", 2, [T0, T1])
    a.assign("h", 2, [T0])
    assert kinds_in(recorder) == []
