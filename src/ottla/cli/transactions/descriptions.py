"""Transactions as their coordinators describe them, in rows.

Coordinators remember when a transaction began after it has ended, so the state decides whether one is open.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client.admin.transactions import TransactionDescription

OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


def is_open(found: "TransactionDescription") -> bool:
    """Whether the coordinator has something to end."""
    return found.state in OPEN_STATES


def transaction_row(found: "TransactionDescription", now_ms: int) -> dict[str, object]:
    """A transaction as a row; one that is not open has neither start nor duration."""
    start_ms = found.start_ms if is_open(found) and found.start_ms >= 0 else None
    return {
        "transactional_id": found.transactional_id,
        "coordinator": found.coordinator_id,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "state": found.state,
        "timeout_ms": found.timeout_ms,
        "start_ms": start_ms,
        "duration_ms": None if start_ms is None else max(0, now_ms - start_ms),
        "partitions": sorted(map(str, found.partitions)),
    }
