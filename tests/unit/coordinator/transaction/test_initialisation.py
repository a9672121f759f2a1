import pytest

from ottla.coordinator.transaction.initialisation import abort_fenced, check_timeout, initialise
from ottla.coordinator.transaction.metadata import MAX_EPOCH, ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.coordinator.transaction.builders import EPOCH, NOW_MS, PRODUCER_ID, metadata

AT_REST = [TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT]


def begin(
    current: TransactionMetadata, expected: ProducerIdentity | None = None, fresh: int | None = None, version: int = 2
) -> TransactionMetadata:
    return initialise(
        current,
        timeout_ms=30_000,
        expected=expected,
        fresh_producer_id=fresh,
        transaction_version=version,
        now_ms=NOW_MS,
    )


def refusal(current: TransactionMetadata, expected: ProducerIdentity | None = None) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        begin(current, expected)
    return refused.value.code


@pytest.mark.parametrize("state", AT_REST)
def test_a_new_instance_gets_the_next_epoch_and_its_timeout(state: TransactionState) -> None:
    begun = begin(metadata(state, last_epoch=EPOCH - 1))
    assert (begun.state, begun.producer_id, begun.producer_epoch) == (TransactionState.EMPTY, PRODUCER_ID, EPOCH + 1)
    assert (begun.timeout_ms, begun.last_producer_epoch) == (30_000, -1)


def test_the_first_instance_of_all_gets_epoch_0() -> None:
    assert begin(metadata(TransactionState.EMPTY, epoch=-1)).producer_epoch == 0


@pytest.mark.parametrize(("version", "last_epoch"), [(0, -1), (1, -1), (2, EPOCH)])
def test_an_open_transaction_is_aborted_first(version: int, last_epoch: int) -> None:
    aborted = begin(metadata(TransactionState.ONGOING), version=version)
    assert (aborted.state, aborted.producer_epoch) == (TransactionState.PREPARE_ABORT, EPOCH + 1)
    assert (aborted.last_producer_epoch, aborted.client_transaction_version) == (last_epoch, version)


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_a_transaction_that_is_ending_is_waited_for(state: TransactionState) -> None:
    assert refusal(metadata(state)) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_a_producer_that_continues_keeps_its_id_and_may_repeat_itself() -> None:
    current = metadata(TransactionState.COMPLETE_ABORT)
    mine = ProducerIdentity(PRODUCER_ID, EPOCH)
    continued = begin(current, mine)
    assert (continued.producer_epoch, continued.last_producer_epoch) == (EPOCH + 1, EPOCH)
    repeated = begin(continued, mine)
    assert (repeated.producer_epoch, repeated.last_producer_epoch) == (EPOCH + 1, EPOCH)


@pytest.mark.parametrize(
    "other",
    [ProducerIdentity(PRODUCER_ID, EPOCH - 2), ProducerIdentity(6, 0)],
)
def test_a_producer_that_was_replaced_cannot_continue(other: ProducerIdentity) -> None:
    for state in (*AT_REST, TransactionState.ONGOING, TransactionState.PREPARE_COMMIT):
        assert refusal(metadata(state), other) is ErrorCode.PRODUCER_FENCED


def test_an_epoch_that_nobody_was_given_is_refused_once_nothing_is_open() -> None:
    invented = ProducerIdentity(PRODUCER_ID, EPOCH + 1)
    assert [refusal(metadata(state), invented) for state in AT_REST] == [ErrorCode.PRODUCER_FENCED] * 3
    assert refusal(metadata(TransactionState.PREPARE_COMMIT), invented) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_exhausted_epochs_go_on_under_a_fresh_id() -> None:
    last = metadata(TransactionState.COMPLETE_COMMIT, epoch=MAX_EPOCH - 1)
    rotated = begin(last, fresh=70)
    assert (rotated.producer_id, rotated.producer_epoch, rotated.previous_producer_id) == (70, 0, PRODUCER_ID)
    mine = ProducerIdentity(PRODUCER_ID, MAX_EPOCH - 1)
    continued = begin(last, mine, fresh=71)
    assert (continued.producer_id, continued.last_producer_epoch) == (71, MAX_EPOCH - 1)
    repeated = begin(continued, mine)
    assert (repeated.producer_id, repeated.producer_epoch) == (71, 0)


def test_the_last_epoch_of_all_is_never_given_to_anybody() -> None:
    """It is reached when the last transaction of a producer id is fenced; its producer then asks for the same again."""
    open_to_the_last = metadata(TransactionState.ONGOING, epoch=MAX_EPOCH - 1)
    fenced = abort_fenced(open_to_the_last, 2, None, NOW_MS).completed(NOW_MS)
    assert (fenced.producer_epoch, fenced.last_producer_epoch) == (MAX_EPOCH, MAX_EPOCH - 1)
    mine = ProducerIdentity(PRODUCER_ID, MAX_EPOCH - 1)
    for expected in (None, mine):
        assert begin(fenced, expected, fresh=70).producer == ProducerIdentity(70, 0)
    continued = begin(fenced, mine, fresh=70)
    assert begin(continued, mine).producer == ProducerIdentity(70, 0)


def test_a_fence_at_the_end_of_the_epochs_hands_over_to_a_fresh_id() -> None:
    fenced = abort_fenced(metadata(TransactionState.ONGOING, epoch=MAX_EPOCH - 1), 2, 70, NOW_MS).completed(NOW_MS)
    assert fenced.producer == ProducerIdentity(70, 0)
    # Its producer goes on, as if nothing had happened, and may ask again.
    mine = ProducerIdentity(PRODUCER_ID, MAX_EPOCH - 1)
    assert begin(fenced, mine).producer == ProducerIdentity(70, 0)
    assert begin(fenced).producer == ProducerIdentity(70, 1)


@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_in_the_last_epoch_can_be_aborted_all_the_same(version: int) -> None:
    aborted = abort_fenced(metadata(TransactionState.ONGOING, epoch=MAX_EPOCH), version, None, NOW_MS)
    # As the older protocol does, so that partitions take a marker of the same epoch.
    assert (aborted.producer_epoch, aborted.client_transaction_version) == (MAX_EPOCH, 0)


def test_the_id_that_takes_over_waits_for_the_end_of_the_one_before() -> None:
    ending = metadata(TransactionState.ONGOING, epoch=MAX_EPOCH - 1).prepared(
        is_commit=True, client_transaction_version=2, next_producer_id=70, now_ms=NOW_MS
    )
    assert refusal(ending, ProducerIdentity(70, 0)) is ErrorCode.CONCURRENT_TRANSACTIONS


def test_an_id_that_ran_out_meanwhile_is_asked_for_again() -> None:
    last = metadata(TransactionState.COMPLETE_COMMIT, epoch=MAX_EPOCH - 1)
    assert refusal(last) is ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("timeout_ms", [-1, 0, 901])
def test_a_timeout_beyond_what_the_broker_allows_is_refused(timeout_ms: int) -> None:
    with pytest.raises(ApiError, match=r"transaction\.max\.timeout\.ms") as refused:
        check_timeout(timeout_ms, 900)
    assert refused.value.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_the_longest_timeout_is_allowed() -> None:
    check_timeout(900, 900)
