"""Rows of transactions."""

import pytest

from ottla.cli.transactions.descriptions import transaction_row
from ottla.client.admin.transactions import TransactionDescription


@pytest.mark.parametrize("state", ["Empty", "CompleteCommit", "CompleteAbort", "Dead"])
def test_a_transaction_that_has_ended_lasts_no_longer_though_its_start_is_remembered(state: str) -> None:
    row = transaction_row(TransactionDescription("billing", state, start_ms=1_000), now_ms=5_000)
    assert (row["start_ms"], row["duration_ms"]) == (None, None)


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort"])
def test_an_open_transaction_lasts_until_now(state: str) -> None:
    row = transaction_row(TransactionDescription("billing", state, start_ms=1_000), now_ms=5_000)
    assert (row["start_ms"], row["duration_ms"]) == (1_000, 4_000)
