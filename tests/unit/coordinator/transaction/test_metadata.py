import pytest

from ottla.coordinator.transaction.metadata import MAX_EPOCH
from ottla.coordinator.transaction.states import TransactionState
from unit.coordinator.transaction.builders import BEGAN_MS, EPOCH, NOW_MS, PARTITIONS, PRODUCER_ID, metadata


def test_the_first_partition_begins_a_transaction_and_the_next_ones_do_not() -> None:
    begun = metadata(TransactionState.COMPLETE_COMMIT).with_partitions(frozenset({("a", 0)}), 2, NOW_MS)
    assert (begun.state, begun.start_timestamp_ms) == (TransactionState.ONGOING, NOW_MS)
    grown = begun.with_partitions(frozenset({("b", 1)}), 2, NOW_MS + 5)
    assert grown.partitions == {("a", 0), ("b", 1)}
    assert (grown.start_timestamp_ms, grown.last_update_timestamp_ms) == (NOW_MS, NOW_MS + 5)


@pytest.mark.parametrize(("version", "epoch", "last_epoch"), [(0, EPOCH, -1), (2, EPOCH + 1, EPOCH)])
def test_an_end_raises_the_epoch_where_each_transaction_has_its_own(version: int, epoch: int, last_epoch: int) -> None:
    ended = metadata(TransactionState.ONGOING).prepared(
        is_commit=True, client_transaction_version=version, next_producer_id=-1, now_ms=NOW_MS
    )
    assert (ended.producer_epoch, ended.last_producer_epoch) == (epoch, last_epoch)
    assert (ended.partitions, ended.start_timestamp_ms) == (PARTITIONS, BEGAN_MS)
    complete = ended.completed(NOW_MS + 1)
    assert (complete.state, complete.partitions) == (TransactionState.COMPLETE_COMMIT, frozenset())
    assert (complete.producer_id, complete.producer_epoch) == (PRODUCER_ID, epoch)


@pytest.mark.parametrize("version", [0, 2])
def test_fencing_raises_the_epoch_once_whatever_the_version(version: int) -> None:
    aborted = (
        metadata(TransactionState.ONGOING)
        .fenced()
        .prepared(is_commit=False, client_transaction_version=version, next_producer_id=-1, now_ms=NOW_MS)
    )
    assert (aborted.state, aborted.producer_epoch) == (TransactionState.PREPARE_ABORT, EPOCH + 1)


def test_a_fresh_producer_id_takes_over_when_the_transaction_is_complete() -> None:
    ended = metadata(TransactionState.ONGOING, epoch=MAX_EPOCH - 1).prepared(
        is_commit=False, client_transaction_version=2, next_producer_id=99, now_ms=NOW_MS
    )
    assert (ended.producer_id, ended.producer_epoch, ended.next_producer_id) == (PRODUCER_ID, MAX_EPOCH, 99)
    complete = ended.completed(NOW_MS)
    assert (complete.producer_id, complete.producer_epoch, complete.next_producer_id) == (99, 0, -1)
    assert (complete.previous_producer_id, complete.last_producer_epoch) == (PRODUCER_ID, MAX_EPOCH - 1)


def test_an_abort_of_nothing_has_a_beginning_all_the_same() -> None:
    ended = metadata(TransactionState.EMPTY).prepared(
        is_commit=False, client_transaction_version=2, next_producer_id=-1, now_ms=NOW_MS
    )
    assert (ended.start_timestamp_ms, ended.partitions) == (NOW_MS, frozenset())


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_a_settled_outcome_cannot_be_left(state: TransactionState) -> None:
    settled = metadata(state)
    with pytest.raises(AssertionError):
        settled.with_partitions(frozenset({("c", 0)}), 2, NOW_MS)
    with pytest.raises(AssertionError):
        settled.prepared(is_commit=True, client_transaction_version=2, next_producer_id=-1, now_ms=NOW_MS)
    with pytest.raises(AssertionError):
        settled.fenced()


def test_an_epoch_never_goes_down_for_the_same_producer_id() -> None:
    with pytest.raises(AssertionError):
        metadata(TransactionState.EMPTY).initialised(
            producer_id=PRODUCER_ID, epoch=EPOCH - 1, last_epoch=-1, timeout_ms=1, now_ms=NOW_MS
        )
