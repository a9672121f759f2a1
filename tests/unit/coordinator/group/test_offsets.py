from ottla.coordinator.group.offsets import OffsetStore
from ottla.coordinator.group.records import CommittedOffset, OffsetRecord


def record(offset: int | None, partition: int = 0, group: str = "g") -> OffsetRecord:
    value = None if offset is None else CommittedOffset(offset, -1, "", 0)
    return OffsetRecord(group, "t", partition, value)


def latest(store: OffsetStore) -> dict[tuple[str, int], int]:
    return {key: value.offset for key, value in store.latest("g")}


def test_records_in_flight_are_latest_but_not_committed() -> None:
    store = OffsetStore()
    store.replay(record(1))
    store.replay(record(5, partition=1))
    store.appended(record(2))
    store.appended(record(None, partition=1))
    assert latest(store) == {("t", 0): 2}
    assert {p: o.offset for p, o in store.committed("g")["t"].items()} == {0: 1, 1: 5}


def test_each_commit_takes_one_record_out_of_flight() -> None:
    store = OffsetStore()
    records = [record(1), record(2), record(3)]
    for each in records:
        store.appended(each)
    for number, each in enumerate(records, start=1):
        assert latest(store) == {("t", 0): 3}
        store.commit(each)
        assert store.committed("g")["t"][0].offset == number
    assert not store._in_flight


def test_a_record_that_is_taken_back_leaves_those_around_it_in_flight() -> None:
    store = OffsetStore()
    store.replay(record(1))
    first, second = record(2), record(3)
    store.appended(first)
    store.appended(second)
    store.withdraw(first)
    assert latest(store) == {("t", 0): 3}
    store.withdraw(second)
    assert latest(store) == {("t", 0): 1}
    assert not store.is_unstable("g", "t", 0)


def test_a_group_is_known_by_its_offsets_until_the_last_is_deleted() -> None:
    store = OffsetStore()
    store.replay(record(1))
    store.appended(record(1, group="h"))
    assert store.group_ids() == {"g", "h"}
    assert [store.has_any(group) for group in "ghi"] == [True, True, False]
    store.replay(record(None))
    store.replay(record(None, partition=7))
    assert store.group_ids() == {"h"}
    assert store.committed("g") == {}
