import pytest

from ottla.broker.coordinators.transactions.fenced_error import as_known
from ottla.protocol.errors import ErrorCode


@pytest.mark.parametrize(("version", "told"), [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)])
def test_old_clients_hear_of_an_epoch_where_new_ones_hear_that_they_are_fenced(version: int, told: ErrorCode) -> None:
    assert as_known(ErrorCode.PRODUCER_FENCED, version, known_from=2) is told


def test_other_errors_are_the_same_for_all() -> None:
    assert as_known(ErrorCode.INVALID_TXN_STATE, 0, known_from=2) is ErrorCode.INVALID_TXN_STATE
