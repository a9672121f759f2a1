"""The order of calls, and what errors mean for a transaction."""

import pytest

from ottla.client.errors import AbortableError, ConnectionLost, FatalProducerError, KafkaError, WrongOrder
from ottla.client.transaction_state import Phase, TransactionState
from ottla.protocol.errors import ErrorCode


def open_state() -> TransactionState:
    state = TransactionState()
    state.initialized()
    state.begin()
    return state


def test_a_transaction_is_begun_and_ended_again_and_again() -> None:
    state = open_state()
    state.started()
    state.start_commit()
    state.ended()
    assert (state.phase, state.is_started) == (Phase.READY, False)
    state.begin()
    state.start_abort()
    state.ended()
    assert (state.phase, state.number) == (Phase.READY, 2)


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED])
def test_some_refusals_end_the_producer_wherever_they_come_from(code: ErrorCode) -> None:
    for refuse in (TransactionState.record_failed, TransactionState.refused_by_coordinator):
        state = open_state()
        assert isinstance(refuse(state, KafkaError(code)), FatalProducerError)
        assert state.phase is Phase.DEAD
        with pytest.raises(FatalProducerError, match="close it"):
            state.start_abort()


def test_an_epoch_that_is_too_old_is_a_fence_at_the_coordinator_and_an_abort_at_a_partition() -> None:
    old = KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
    at_partition, at_coordinator = open_state(), open_state()
    assert isinstance(at_partition.record_failed(old), AbortableError)
    judged = at_coordinator.refused_by_coordinator(old)
    assert isinstance(judged, FatalProducerError)
    assert judged.code is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
def test_after_other_refusals_an_abort_mends_everything(code: ErrorCode) -> None:
    state = open_state()
    assert isinstance(state.refused_by_coordinator(KafkaError(code)), AbortableError)
    for late in (state.start_commit, state.begin, lambda: state.check_open("send")):
        with pytest.raises(AbortableError, match="abort_transaction"):
            late()
    state.start_abort()
    state.ended()
    state.begin()
    assert (state.error, state.is_broken) == (None, False)


def test_the_first_failure_is_the_one_that_is_told() -> None:
    state = open_state()
    state.record_failed(KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "too large"))
    state.record_failed(KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))
    with pytest.raises(AbortableError, match="too large"):
        state.start_commit()


def test_what_may_be_repeated_changes_nothing() -> None:
    state = open_state()
    state.start_commit()
    for error in (ConnectionLost("cut"), KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)):
        assert state.refused_by_coordinator(error) is error
    assert state.phase is Phase.COMMITTING
    with pytest.raises(WrongOrder, match="commit_transaction again"):
        state.start_abort()
    state.start_commit()


def test_an_abort_that_is_refused_ends_the_producer() -> None:
    state = open_state()
    state.start_abort()
    assert isinstance(state.refused_by_coordinator(KafkaError(ErrorCode.TRANSACTION_ABORTABLE)), FatalProducerError)


def test_a_record_that_fails_during_an_abort_leaves_the_sequence_unknown() -> None:
    state = open_state()
    state.start_abort()
    state.record_failed(ConnectionLost("cut"))
    assert (state.phase, state.is_broken) == (Phase.ABORTING, True)


def test_a_coordinator_that_has_forgotten_the_producer_has_nothing_to_end() -> None:
    state = open_state()
    state.started()
    state.refused_by_coordinator(KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    assert state.is_forgotten


def test_an_unanswered_beginning_counts_only_while_nothing_was_begun_for_certain() -> None:
    state = open_state()
    state.perhaps_started()
    assert state.is_unsure
    known = open_state()
    known.started()
    known.perhaps_started()
    assert not known.is_unsure


def test_while_an_abort_is_not_answered_the_next_call_is_the_abort_whatever_it_is_for() -> None:
    state = open_state()
    state.record_failed(KafkaError(ErrorCode.MESSAGE_TOO_LARGE, "too large"))
    state.start_abort()
    assert state.refused_by_coordinator(ConnectionLost("cut")).is_retriable
    for early in (state.begin, state.start_commit, lambda: state.check_open("send")):
        with pytest.raises(WrongOrder, match="call abort_transaction again"):
            early()
    state.start_abort()


def test_an_epoch_that_a_partition_refuses_is_a_question_to_the_coordinator() -> None:
    late, fenced = open_state(), open_state()
    for state in (late, fenced):
        assert not state.is_epoch_refused
        state.record_failed(KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH))
        assert state.is_epoch_refused
        state.check_alive()
    fenced.taken_over(KafkaError(ErrorCode.PRODUCER_FENCED))
    with pytest.raises(FatalProducerError):
        fenced.check_alive()
    assert not fenced.is_epoch_refused


def test_what_the_coordinator_has_aborted_is_aborted_and_begun_again() -> None:
    state = open_state()
    state.start_commit()
    told = state.aborted_by_coordinator(KafkaError(ErrorCode.INVALID_TXN_STATE, "it took too long"))
    assert isinstance(told, AbortableError)
    state.start_abort()
    state.ended()
    state.begin()
