from ottla.coordinator.transaction.description import (
    TransactionFilter,
    describe_transaction,
    list_transaction,
    unknown_states,
)
from ottla.coordinator.transaction.states import TransactionState
from unit.coordinator.transaction.builders import BEGAN_MS, EPOCH, PRODUCER_ID, TIMEOUT_MS, metadata

ONGOING = metadata(TransactionState.ONGOING)


def wanted(**filters: object) -> TransactionFilter:
    return TransactionFilter(**{"states": frozenset(), "producer_ids": frozenset(), "duration_ms": -1, **filters})  # type: ignore[arg-type]


def test_an_empty_filter_lets_everything_through() -> None:
    assert wanted().matches(ONGOING, 0)


def test_each_filter_lets_through_what_it_names() -> None:
    assert wanted(states=frozenset({"Ongoing"})).matches(ONGOING, 0)
    assert not wanted(states=frozenset({"Empty"})).matches(ONGOING, 0)
    assert wanted(producer_ids=frozenset({PRODUCER_ID})).matches(ONGOING, 0)
    assert not wanted(producer_ids=frozenset({1})).matches(ONGOING, 0)
    assert wanted(id_matches=lambda name: name == "tx").matches(ONGOING, 0)
    assert not wanted(id_matches=lambda _: None).matches(ONGOING, 0)


def test_a_duration_is_exceeded_not_reached() -> None:
    assert not wanted(duration_ms=50).matches(ONGOING, BEGAN_MS + 50)
    assert wanted(duration_ms=50).matches(ONGOING, BEGAN_MS + 51)


def test_states_that_there_are_not_are_named() -> None:
    assert unknown_states(["Ongoing", "ongoing", "Nowhere"]) == ["ongoing", "Nowhere"]


def test_rows_tell_what_is_known() -> None:
    row = list_transaction(ONGOING)
    assert (row.transactional_id, row.producer_id, row.transaction_state) == ("tx", PRODUCER_ID, "Ongoing")
    described = describe_transaction(ONGOING)
    assert (described.transaction_timeout_ms, described.transaction_start_time_ms) == (TIMEOUT_MS, BEGAN_MS)
    assert (described.producer_epoch, [(topic.topic, list(topic.partitions)) for topic in described.topics]) == (
        EPOCH,
        [("a", [0]), ("b", [3])],
    )
