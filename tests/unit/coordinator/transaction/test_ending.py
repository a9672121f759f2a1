import pytest

from ottla.coordinator.transaction.ending import end_transaction
from ottla.coordinator.transaction.metadata import MAX_EPOCH, ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.coordinator.transaction.builders import EPOCH, NOW_MS, PARTITIONS, PRODUCER_ID, metadata

S = TransactionState


def end(
    current: TransactionMetadata,
    *,
    is_commit: bool,
    epoch: int = EPOCH,
    producer_id: int = PRODUCER_ID,
    version: int = 2,
    fresh: int | None = None,
) -> TransactionMetadata | None:
    return end_transaction(
        current,
        producer=ProducerIdentity(producer_id, epoch),
        is_commit=is_commit,
        client_transaction_version=version,
        fresh_producer_id=fresh,
        now_ms=NOW_MS,
    )


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize(("is_commit", "state"), [(True, S.PREPARE_COMMIT), (False, S.PREPARE_ABORT)])
def test_an_open_transaction_ends_as_its_producer_says(version: int, is_commit: bool, state: TransactionState) -> None:
    ended = end(metadata(S.ONGOING), is_commit=is_commit, version=version)
    assert ended is not None
    assert (ended.state, ended.partitions, ended.producer_epoch) == (state, PARTITIONS, EPOCH + (version == 2))


# What a request gets, by state, outcome and how its epoch stands to the current one: None for an answer without a new
# record, a state for a new record, an error otherwise.
WITH_EPOCH_PER_TRANSACTION = [
    (S.EMPTY, True, 0, ErrorCode.INVALID_TXN_STATE),
    (S.EMPTY, False, 0, S.PREPARE_ABORT),
    (S.EMPTY, False, -1, ErrorCode.PRODUCER_FENCED),
    (S.ONGOING, True, -1, ErrorCode.PRODUCER_FENCED),
    (S.ONGOING, True, 1, ErrorCode.PRODUCER_FENCED),
    (S.PREPARE_COMMIT, True, -1, ErrorCode.CONCURRENT_TRANSACTIONS),
    (S.PREPARE_COMMIT, False, -1, ErrorCode.INVALID_TXN_STATE),
    (S.PREPARE_COMMIT, True, 0, ErrorCode.PRODUCER_FENCED),
    (S.PREPARE_ABORT, False, -1, ErrorCode.CONCURRENT_TRANSACTIONS),
    (S.PREPARE_ABORT, True, -1, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_COMMIT, True, -1, None),
    (S.COMPLETE_COMMIT, False, -1, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_COMMIT, True, 0, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_COMMIT, False, 0, S.PREPARE_ABORT),
    (S.COMPLETE_COMMIT, True, -2, ErrorCode.PRODUCER_FENCED),
    (S.COMPLETE_ABORT, False, -1, None),
    (S.COMPLETE_ABORT, True, -1, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_ABORT, False, 0, S.PREPARE_ABORT),
    (S.COMPLETE_ABORT, True, 0, ErrorCode.INVALID_TXN_STATE),
]
BY_STATE_ALONE = [
    (S.EMPTY, True, 0, ErrorCode.INVALID_TXN_STATE),
    (S.EMPTY, False, 0, ErrorCode.INVALID_TXN_STATE),
    (S.ONGOING, True, -1, ErrorCode.PRODUCER_FENCED),
    (S.PREPARE_COMMIT, True, 0, ErrorCode.CONCURRENT_TRANSACTIONS),
    (S.PREPARE_COMMIT, False, 0, ErrorCode.INVALID_TXN_STATE),
    (S.PREPARE_ABORT, False, 0, ErrorCode.CONCURRENT_TRANSACTIONS),
    (S.PREPARE_ABORT, True, 0, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_COMMIT, True, 0, None),
    (S.COMPLETE_COMMIT, False, 0, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_ABORT, False, 0, None),
    (S.COMPLETE_ABORT, True, 0, ErrorCode.INVALID_TXN_STATE),
    (S.COMPLETE_ABORT, True, -1, ErrorCode.PRODUCER_FENCED),
]


@pytest.mark.parametrize(
    ("version", "state", "is_commit", "behind", "expected"),
    [(2, *row) for row in WITH_EPOCH_PER_TRANSACTION] + [(0, *row) for row in BY_STATE_ALONE],
)
def test_what_an_end_gets_in_each_state(
    version: int, state: TransactionState, is_commit: bool, behind: int, expected: TransactionState | ErrorCode | None
) -> None:
    current = metadata(state)
    if isinstance(expected, ErrorCode):
        with pytest.raises(ApiError) as refused:
            end(current, is_commit=is_commit, epoch=EPOCH + behind, version=version)
        assert refused.value.code is expected
        return
    ended = end(current, is_commit=is_commit, epoch=EPOCH + behind, version=version)
    assert (None if ended is None else ended.state) == expected


@pytest.mark.parametrize("version", [0, 2])
def test_another_producer_ends_nothing(version: int) -> None:
    with pytest.raises(ApiError) as refused:
        end(metadata(S.ONGOING), is_commit=True, producer_id=99, version=version)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_the_last_transaction_of_a_producer_id_hands_over_and_may_be_repeated() -> None:
    current = metadata(S.ONGOING, epoch=MAX_EPOCH - 1)
    ended = end(current, is_commit=True, epoch=MAX_EPOCH - 1, fresh=99)
    assert ended is not None
    complete = ended.completed(NOW_MS)
    assert (complete.producer_id, complete.producer_epoch) == (99, 0)
    assert end(complete, is_commit=True, epoch=MAX_EPOCH - 1) is None
    with pytest.raises(ApiError) as refused:
        end(complete, is_commit=False, epoch=MAX_EPOCH - 1)
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE


def test_the_successor_is_asked_to_wait_until_it_has_taken_over() -> None:
    ending = end(metadata(S.ONGOING, epoch=MAX_EPOCH - 1), is_commit=True, epoch=MAX_EPOCH - 1, fresh=99)
    assert ending is not None
    for outcome in (True, False):
        with pytest.raises(ApiError) as refused:
            end(ending, is_commit=outcome, epoch=0, producer_id=99)
        assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_successor_that_was_not_foreseen_is_asked_for_again() -> None:
    with pytest.raises(ApiError) as refused:
        end(metadata(S.ONGOING, epoch=MAX_EPOCH - 1), is_commit=True, epoch=MAX_EPOCH - 1)
    assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_delayed_commit_never_ends_the_next_transaction() -> None:
    """The tear of the older protocol: a commit that was retried and arrives during the next transaction."""
    first = end(metadata(S.ONGOING), is_commit=True)
    assert first is not None
    following = first.completed(NOW_MS).with_partitions(frozenset({("a", 0)}), 2, NOW_MS)
    with pytest.raises(ApiError) as refused:
        end(following, is_commit=True, epoch=EPOCH)
    assert refused.value.code is ErrorCode.PRODUCER_FENCED
