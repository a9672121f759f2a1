"""EndTxn: a producer commits or aborts (KIP-98, KIP-890).

The answer may be given once the intent is logged: from then on the outcome can only be completed.

Under transaction.version 2 the epoch tells requests apart. The transaction's own epoch ends it; the epoch just below
the current one is that request repeated, and gets the answer again; the current epoch after an end belongs to the next
transaction, which an abort may end although it wrote nothing. So a delayed EndTxn can never end a transaction that it
was not sent for. Under the older protocol the epoch stays the same over many transactions: a repeated request can only
be guessed from the state.
"""

from __future__ import annotations

from typing import NoReturn

from ottla.coordinator.transaction.adding import check_producer_id
from ottla.coordinator.transaction.metadata import MAX_EPOCH, ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.control_records import EPOCH_BUMP_VERSION
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import NO_PRODUCER_ID

_COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def end_transaction(
    current: TransactionMetadata,
    *,
    producer: ProducerIdentity,
    is_commit: bool,
    client_transaction_version: int,
    fresh_producer_id: int | None,
    now_ms: int,
) -> TransactionMetadata | None:
    """The prepared state to log; None if the transaction has ended so already. Raises ApiError.

    `fresh_producer_id` is used when the epochs are exhausted.
    """
    if client_transaction_version < EPOCH_BUMP_VERSION:
        return _end_by_state(current, producer, is_commit=is_commit, now_ms=now_ms)
    is_over_rotation = (
        current.previous_producer_id == producer.producer_id != current.producer_id
        and producer.epoch == MAX_EPOCH - 1
        and current.producer_epoch == 0
    )
    is_repeated = is_over_rotation or current.producer_epoch == producer.epoch + 1
    if not is_over_rotation:
        check_producer_id(current, producer)
    if not _epoch_fits(current, producer.epoch, is_repeated=is_repeated):
        raise current.fenced_error(producer)
    if current.state.is_prepared:
        _refuse_unless(current, is_commit=is_commit)
    if is_repeated:
        _check_outcome(current, is_commit=is_commit)
        return None
    if is_commit and current.state is not TransactionState.ONGOING:
        _refuse(current, is_commit=is_commit)
    return current.prepared(
        is_commit=is_commit,
        client_transaction_version=client_transaction_version,
        next_producer_id=_successor(current, fresh_producer_id),
        now_ms=now_ms,
    )


def _epoch_fits(current: TransactionMetadata, producer_epoch: int, *, is_repeated: bool) -> bool:
    if current.state.is_prepared:
        return current.producer_epoch == producer_epoch + 1
    if current.state in _COMPLETE and is_repeated:
        return True
    return producer_epoch == current.producer_epoch


def _successor(current: TransactionMetadata, fresh_producer_id: int | None) -> int:
    if not current.is_epoch_exhausted:
        return NO_PRODUCER_ID
    if fresh_producer_id is None:
        # The last epoch was used up since the caller looked.
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, f"{current.transactional_id!r} needs a new producer id")
    return fresh_producer_id


def _end_by_state(
    current: TransactionMetadata, producer: ProducerIdentity, *, is_commit: bool, now_ms: int
) -> TransactionMetadata | None:
    """Under the older protocol, in which only the state tells requests apart."""
    check_producer_id(current, producer)
    if producer.epoch != current.producer_epoch:
        raise current.fenced_error(producer)
    if current.state is TransactionState.ONGOING:
        return current.prepared(
            is_commit=is_commit, client_transaction_version=0, next_producer_id=NO_PRODUCER_ID, now_ms=now_ms
        )
    if current.state.is_prepared:
        _refuse_unless(current, is_commit=is_commit)
    if current.state not in _COMPLETE:
        _refuse(current, is_commit=is_commit)
    _check_outcome(current, is_commit=is_commit)
    return None


def _refuse_unless(current: TransactionMetadata, *, is_commit: bool) -> NoReturn:
    """A producer that wants the outcome of a prepared transaction waits for it; any other is refused."""
    if is_commit == current.is_commit:
        raise current.still_ending_error()
    _refuse(current, is_commit=is_commit)


def _check_outcome(current: TransactionMetadata, *, is_commit: bool) -> None:
    if is_commit != (current.state is TransactionState.COMPLETE_COMMIT):
        _refuse(current, is_commit=is_commit)


def _refuse(current: TransactionMetadata, *, is_commit: bool) -> NoReturn:
    raise ApiError(
        ErrorCode.INVALID_TXN_STATE,
        f"{current.transactional_id!r} is {current.state.label}: there is nothing to "
        f"{'commit' if is_commit else 'abort'}",
    )
