import pytest

from ottla.coordinator.transaction.metadata import ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.coordinator.transaction.builders import BEGAN_MS, EPOCH, NOW_MS, PRODUCER_ID, TIMEOUT_MS, metadata


def shard_with(*states: TransactionMetadata) -> TransactionShard:
    shard = TransactionShard()
    for state in states:
        shard.replay(state.transactional_id, state)
    return shard


def begin(shard: TransactionShard, fresh: int | None = 7) -> TransactionMetadata:
    return shard.init_producer_id(
        "tx", timeout_ms=TIMEOUT_MS, expected=None, fresh_producer_id=fresh, transaction_version=2, now_ms=NOW_MS
    )


def add(shard: TransactionShard) -> TransactionMetadata | None:
    return shard.add_partitions(
        "tx",
        producer=ProducerIdentity(PRODUCER_ID, EPOCH),
        partitions=frozenset({("c", 0)}),
        client_transaction_version=2,
        now_ms=NOW_MS,
    )


def abort_overdue(shard: TransactionShard, now_ms: int) -> TransactionMetadata | None:
    return shard.abort_overdue("tx", fresh_producer_id=None, transaction_version=2, now_ms=now_ms)


def test_nothing_holds_before_it_is_logged_and_nobody_else_decides_meanwhile() -> None:
    shard = shard_with(metadata(TransactionState.COMPLETE_COMMIT))
    following = add(shard)
    assert following is not None
    current = shard.get("tx")
    assert current is not None
    assert current.state is TransactionState.COMPLETE_COMMIT
    for decide in (begin, add):
        with pytest.raises(ApiError) as refused:
            decide(shard)
        assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS
    shard.logged(following)
    assert shard.get("tx") is following


def test_what_the_log_refused_never_was() -> None:
    shard = shard_with(metadata(TransactionState.COMPLETE_COMMIT))
    following = add(shard)
    assert following is not None
    shard.refused(following)
    current = shard.get("tx")
    assert current is not None
    assert (current.state, shard.is_pending("tx")) == (TransactionState.COMPLETE_COMMIT, False)


def test_an_id_whose_first_record_was_refused_is_not_known() -> None:
    shard = TransactionShard()
    shard.refused(begin(shard))
    assert shard.get("tx") is None
    assert shard.wants_producer_id("tx")


def test_a_new_id_wants_a_producer_id_and_an_old_one_does_not() -> None:
    shard = TransactionShard()
    assert shard.wants_producer_id("tx")
    shard.logged(begin(shard))
    assert not shard.wants_producer_id("tx")
    with pytest.raises(ApiError) as refused:
        begin(TransactionShard(), fresh=None)
    assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS


def test_an_unknown_id_has_to_begin_first() -> None:
    with pytest.raises(ApiError, match="InitProducerId") as refused:
        add(TransactionShard())
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_overdue_are_open_transactions_past_their_timeout() -> None:
    shard = shard_with(metadata(TransactionState.ONGOING))
    assert shard.overdue(BEGAN_MS + TIMEOUT_MS) == []
    late_ms = BEGAN_MS + TIMEOUT_MS + 1
    assert shard.overdue(late_ms) == ["tx"]
    aborted = abort_overdue(shard, late_ms)
    assert aborted is not None
    assert shard.overdue(late_ms) == []
    shard.logged(aborted)
    assert (aborted.state, aborted.producer_epoch) == (TransactionState.PREPARE_ABORT, EPOCH + 1)
    assert shard.overdue(late_ms) == []


def test_what_is_not_overdue_any_more_is_not_aborted() -> None:
    late_ms = BEGAN_MS + TIMEOUT_MS + 1
    assert abort_overdue(TransactionShard(), late_ms) is None
    for state in (TransactionState.COMPLETE_COMMIT, TransactionState.PREPARE_COMMIT):
        assert abort_overdue(shard_with(metadata(state)), late_ms) is None
    assert abort_overdue(shard_with(metadata(TransactionState.ONGOING)), BEGAN_MS + TIMEOUT_MS) is None


def test_what_was_settled_is_found_after_loading_and_completed() -> None:
    shard = shard_with(metadata(TransactionState.PREPARE_COMMIT))
    (settled,) = shard.prepared()
    complete = shard.complete(settled.transactional_id, NOW_MS)
    shard.logged(complete)
    assert shard.prepared() == []
    assert complete.state is TransactionState.COMPLETE_COMMIT


def test_ids_that_nobody_uses_are_forgotten_unless_a_transaction_is_open() -> None:
    shard = shard_with(metadata(TransactionState.COMPLETE_COMMIT))
    assert shard.expire("tx", BEGAN_MS + 9, 10) is None
    dead = shard.expire("tx", BEGAN_MS + 10, 10)
    assert dead is not None
    assert dead.state is TransactionState.DEAD
    assert (shard.get("tx"), list(shard.all())) == (None, [])
    assert shard.expire("tx", BEGAN_MS + 10, 10) is None
    shard.logged(dead)
    assert len(shard) == 0
    busy = shard_with(metadata(TransactionState.ONGOING))
    assert busy.expire("tx", BEGAN_MS + 10**9, 10) is None


def test_a_tombstone_in_the_log_forgets_an_id() -> None:
    shard = shard_with(metadata(TransactionState.ONGOING))
    shard.replay("tx", None)
    assert (len(shard), shard.overdue(10**12)) == (0, [])
