import pytest

from ottla.coordinator.transaction.adding import add_partitions, unadded_partitions
from ottla.coordinator.transaction.metadata import MAX_EPOCH, ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.coordinator.transaction.builders import EPOCH, NOW_MS, PARTITIONS, PRODUCER_ID, metadata

NEW = frozenset({("c", 1)})


def add(
    current: TransactionMetadata,
    partitions: frozenset[tuple[str, int]] = NEW,
    *,
    producer_id: int = PRODUCER_ID,
    epoch: int = EPOCH,
) -> TransactionMetadata | None:
    return add_partitions(
        current,
        producer=ProducerIdentity(producer_id, epoch),
        partitions=partitions,
        client_transaction_version=2,
        now_ms=NOW_MS,
    )


@pytest.mark.parametrize(
    "state", [TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]
)
def test_partitions_begin_a_transaction(state: TransactionState) -> None:
    begun = add(metadata(state))
    assert begun is not None
    assert (begun.state, begun.partitions) == (TransactionState.ONGOING, NEW)


def test_partitions_that_are_in_it_need_no_record() -> None:
    assert add(metadata(TransactionState.ONGOING), frozenset({("a", 0)})) is None
    grown = add(metadata(TransactionState.ONGOING))
    assert grown is not None
    assert grown.partitions == PARTITIONS | NEW


@pytest.mark.parametrize(
    ("state", "producer_id", "epoch", "code"),
    [
        (TransactionState.ONGOING, 99, EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (TransactionState.ONGOING, PRODUCER_ID, EPOCH - 1, ErrorCode.PRODUCER_FENCED),
        (TransactionState.ONGOING, PRODUCER_ID, EPOCH + 1, ErrorCode.PRODUCER_FENCED),
        (TransactionState.PREPARE_COMMIT, PRODUCER_ID, EPOCH, ErrorCode.CONCURRENT_TRANSACTIONS),
        (TransactionState.PREPARE_ABORT, PRODUCER_ID, EPOCH, ErrorCode.CONCURRENT_TRANSACTIONS),
        (TransactionState.PREPARE_COMMIT, PRODUCER_ID, EPOCH - 1, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_only_the_owner_of_a_transaction_that_is_not_ending_may_add_or_ask(
    state: TransactionState, producer_id: int, epoch: int, code: ErrorCode
) -> None:
    with pytest.raises(ApiError) as refused:
        add(metadata(state), producer_id=producer_id, epoch=epoch)
    assert refused.value.code is code
    with pytest.raises(ApiError) as refused:
        unadded_partitions(metadata(state), producer=ProducerIdentity(producer_id, epoch), partitions=NEW)
    assert refused.value.code is code


def test_the_producer_id_that_takes_over_is_asked_to_wait() -> None:
    ending = metadata(TransactionState.ONGOING, epoch=MAX_EPOCH - 1).prepared(
        is_commit=True, client_transaction_version=2, next_producer_id=99, now_ms=NOW_MS
    )
    with pytest.raises(ApiError) as refused:
        add(ending, producer_id=99, epoch=0)
    assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_verification_names_what_is_missing() -> None:
    asked = frozenset({("a", 0), ("c", 1)})
    ongoing = metadata(TransactionState.ONGOING)
    assert unadded_partitions(ongoing, producer=ProducerIdentity(PRODUCER_ID, EPOCH), partitions=asked) == NEW
    ended = metadata(TransactionState.COMPLETE_COMMIT)
    assert unadded_partitions(ended, producer=ProducerIdentity(PRODUCER_ID, EPOCH), partitions=asked) == asked
