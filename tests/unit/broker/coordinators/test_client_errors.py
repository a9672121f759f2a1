import pytest

from ottla.broker.coordinators.client_errors import coordinator_error, fencing_error
from ottla.protocol.errors import ApiError, ErrorCode


@pytest.mark.parametrize(("version", "told"), [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)])
def test_old_clients_hear_of_an_epoch_where_new_ones_hear_that_they_are_fenced(version: int, told: ErrorCode) -> None:
    assert fencing_error(ErrorCode.PRODUCER_FENCED, version, known_from=2) is told


def test_other_errors_are_the_same_for_all() -> None:
    assert fencing_error(ErrorCode.INVALID_TXN_STATE, 0, known_from=2) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_what_the_log_refuses_is_told_as_a_coordinators_error(refusal: ErrorCode, told: ErrorCode) -> None:
    error = coordinator_error(ApiError(refusal, "why"))
    assert (error.code, error.message) == (told, "why")
