"""InitProducerId: a producer takes over a transactional id (KIP-98, KIP-360).

It gets the next epoch, so that every earlier instance is fenced. A transaction that such an instance left open is
aborted first, and the producer asks again until that is done. A producer that continues after an error names its id
and epoch: then it goes on only if nobody else has begun since, and a request that is repeated gets the same answer.
"""

from __future__ import annotations

from ottla.coordinator.transaction.metadata import MAX_EPOCH, ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.control_records import EPOCH_BUMP_VERSION
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


def initialise(
    current: TransactionMetadata,
    *,
    timeout_ms: int,
    expected: ProducerIdentity | None,
    fresh_producer_id: int | None,
    transaction_version: int,
    now_ms: int,
) -> TransactionMetadata:
    """The next state: EMPTY for the new producer, or PREPARE_ABORT if an open transaction has to end first.

    `fresh_producer_id` is used when the epochs are exhausted. Raises ApiError.
    """
    if expected is not None and not _may_continue(current, expected):
        raise current.fenced_error(expected)
    if current.state.is_prepared:
        raise current.still_ending_error()
    if current.state is TransactionState.ONGOING:
        return abort_fenced(current, transaction_version, fresh_producer_id, now_ms)
    assert current.state.is_at_rest, f"{current.transactional_id} is {current.state.label}"
    if _must_rotate(current, expected):
        if fresh_producer_id is None:
            # The last epoch was used up since the caller looked.
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, f"{current.transactional_id!r} needs a new producer id")
        return current.initialised(
            producer_id=fresh_producer_id,
            epoch=0,
            last_epoch=NO_PRODUCER_EPOCH if expected is None else expected.epoch,
            timeout_ms=timeout_ms,
            now_ms=now_ms,
        )
    epoch, last_epoch = _next_epoch(current, expected)
    return current.initialised(
        producer_id=current.producer_id, epoch=epoch, last_epoch=last_epoch, timeout_ms=timeout_ms, now_ms=now_ms
    )


def _must_rotate(current: TransactionMetadata, expected: ProducerIdentity | None) -> bool:
    """Whether no epoch is left to give. The very last one is for markers alone, even if a request repeats it."""
    if current.producer_epoch == MAX_EPOCH:
        return expected is None or expected.epoch in (current.producer_epoch, current.last_producer_epoch)
    return current.is_epoch_exhausted and (expected is None or expected.epoch == current.producer_epoch)


def abort_fenced(
    current: TransactionMetadata, transaction_version: int, fresh_producer_id: int | None, now_ms: int
) -> TransactionMetadata:
    """The abort of an open transaction whose producer must not continue it: it was replaced, or its time is up.

    If its epochs are exhausted, the fresh id takes over; without one, the next producer gets another.
    """
    successor = NO_PRODUCER_ID
    if current.is_epoch_exhausted and transaction_version >= EPOCH_BUMP_VERSION and fresh_producer_id is not None:
        successor = fresh_producer_id
    return current.fenced().prepared(
        is_commit=False,
        client_transaction_version=transaction_version,
        next_producer_id=successor,
        now_ms=now_ms,
    )


def check_timeout(timeout_ms: int, max_timeout_ms: int) -> None:
    """Refuses a transaction timeout that the broker does not allow."""
    if not 0 < timeout_ms <= max_timeout_ms:
        raise ApiError(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"transaction.timeout.ms {timeout_ms} is not between 1 and transaction.max.timeout.ms {max_timeout_ms}",
        )


def _may_continue(current: TransactionMetadata, expected: ProducerIdentity) -> bool:
    """Whether nobody has fenced the producer. An epoch that was never given is refused later, by `_next_epoch`: an open
    transaction has to end first."""
    if current.is_successor(expected):
        return True
    if current.producer_epoch == NO_PRODUCER_EPOCH:
        # Nothing is known about the id any more, so nobody can have taken it over.
        return True
    if expected.producer_id == current.producer_id:
        return expected.epoch >= current.producer_epoch or expected.epoch == current.last_producer_epoch
    # The request that rotated the id, repeated.
    return expected.producer_id == current.previous_producer_id and expected.epoch >= MAX_EPOCH - 1


def _next_epoch(current: TransactionMetadata, expected: ProducerIdentity | None) -> tuple[int, int]:
    """The epoch to give, and the previous one that a repeated request may still name."""
    if expected is None:
        return current.producer_epoch + 1, NO_PRODUCER_EPOCH
    if current.producer_epoch in (NO_PRODUCER_EPOCH, expected.epoch):
        return current.producer_epoch + 1, current.producer_epoch
    if expected.epoch == current.last_producer_epoch:
        return current.producer_epoch, current.last_producer_epoch
    raise current.fenced_error(expected)
