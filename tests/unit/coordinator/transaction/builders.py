"""Transactional ids in the states that tests begin with."""

from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState

PARTITIONS = frozenset({("a", 0), ("b", 3)})
PRODUCER_ID = 7
EPOCH = 4
TIMEOUT_MS = 60_000
BEGAN_MS = 100
NOW_MS = 1_000


def metadata(
    state: TransactionState, *, epoch: int = EPOCH, last_epoch: int = -1, version: int = 2, previous_id: int = -1
) -> TransactionMetadata:
    """An id in a state, as its history would have left it."""
    has_partitions = state is TransactionState.ONGOING or state.is_prepared
    return TransactionMetadata(
        transactional_id="tx",
        producer_id=PRODUCER_ID,
        producer_epoch=epoch,
        timeout_ms=TIMEOUT_MS,
        state=state,
        partitions=PARTITIONS if has_partitions else frozenset(),
        start_timestamp_ms=-1 if state is TransactionState.EMPTY else BEGAN_MS,
        last_update_timestamp_ms=BEGAN_MS,
        previous_producer_id=previous_id,
        last_producer_epoch=last_epoch,
        client_transaction_version=version,
    )
