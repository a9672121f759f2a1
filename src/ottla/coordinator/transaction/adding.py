"""AddPartitionsToTxn: partitions join a transaction, and the first of them begins it.

The request comes from clients of the older protocol, from brokers on behalf of clients of transaction.version 2, and
from brokers that only verify that a client has added its partitions (KIP-890).
"""

from __future__ import annotations

from ottla.coordinator.transaction.metadata import ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.topic_partition import TopicPartition


def add_partitions(
    current: TransactionMetadata,
    *,
    producer: ProducerIdentity,
    partitions: frozenset[TopicPartition],
    client_transaction_version: int,
    now_ms: int,
) -> TransactionMetadata | None:
    """The state with these partitions; None if they are all in it. Raises ApiError."""
    _check_owner(current, producer)
    if current.state is TransactionState.ONGOING and partitions <= current.partitions:
        return None
    return current.with_partitions(partitions, client_transaction_version, now_ms)


def unadded_partitions(
    current: TransactionMetadata, *, producer: ProducerIdentity, partitions: frozenset[TopicPartition]
) -> frozenset[TopicPartition]:
    """The partitions that are not in the producer's transaction. Raises ApiError."""
    _check_owner(current, producer)
    return partitions - current.partitions


def _check_owner(current: TransactionMetadata, producer: ProducerIdentity) -> None:
    check_producer_id(current, producer)
    if producer.epoch != current.producer_epoch:
        raise current.fenced_error(producer)
    if current.state.is_prepared:
        raise current.still_ending_error()


def check_producer_id(current: TransactionMetadata, producer: ProducerIdentity) -> None:
    """Refuses a producer that does not own the transactional id, or not yet."""
    if current.is_successor(producer):
        raise current.still_ending_error()
    if producer.producer_id != current.producer_id:
        raise ApiError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"{current.transactional_id!r} belongs to producer {current.producer_id}, not to {producer.producer_id}",
        )
