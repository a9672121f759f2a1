"""AddPartitionsToTxn: partitions join a transaction, and the first of them begins it.

Who asks: clients of the older protocol for themselves, brokers for the clients of transaction.version 2, and brokers
that only verify that a client has asked (KIP-890).
"""

from __future__ import annotations

from ottla.coordinator.transaction.metadata import TopicPartition, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode


def add_partitions(
    current: TransactionMetadata,
    *,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
    client_transaction_version: int,
    now_ms: int,
) -> TransactionMetadata | None:
    """The state with these partitions; None if they are all in it. Raises ApiError."""
    _check_owner(current, producer_id, producer_epoch)
    if current.state is TransactionState.ONGOING and partitions <= current.partitions:
        return None
    return current.with_partitions(partitions, client_transaction_version, now_ms)


def unadded_partitions(
    current: TransactionMetadata, *, producer_id: int, producer_epoch: int, partitions: frozenset[TopicPartition]
) -> frozenset[TopicPartition]:
    """Those that are not in the producer's transaction. Raises ApiError."""
    _check_owner(current, producer_id, producer_epoch)
    return partitions - current.partitions


def _check_owner(current: TransactionMetadata, producer_id: int, producer_epoch: int) -> None:
    transactional_id = current.transactional_id
    check_producer_id(current, producer_id)
    if producer_epoch != current.producer_epoch:
        raise ApiError(
            ErrorCode.PRODUCER_FENCED,
            f"{transactional_id!r} is in epoch {current.producer_epoch} now, not in {producer_epoch}",
        )
    if current.state.is_prepared:
        raise ApiError(
            ErrorCode.CONCURRENT_TRANSACTIONS, f"the last transaction of {transactional_id!r} is still ending"
        )


def check_producer_id(current: TransactionMetadata, producer_id: int) -> None:
    """Refuses a producer that the transactional id does not belong to."""
    if producer_id != current.producer_id:
        raise ApiError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"{current.transactional_id!r} belongs to producer {current.producer_id}, not to {producer_id}",
        )
