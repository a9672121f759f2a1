"""What the coordinator knows about one transactional id, as a value: each transition returns the next one.

Invariants, asserted with every transition
- States follow each other by the table in `states`.
- A producer id keeps its id, or gets a fresh one with epoch 0; its epoch never goes down otherwise.
- Partitions belong to a transaction from its first write to its completion: none in EMPTY and COMPLETE_*.
- A transaction that is open, or being ended, has begun at a known time.

Under transaction.version 2 (KIP-890) ending a transaction raises the epoch, so that each transaction has an epoch of
its own: markers carry the raised epoch, and late requests of the ended transaction have one that is over.
The last epoch of a producer id is 32767; only markers use it. A producer whose epoch is 32766 goes on with a
fresh id, which is chosen when its transaction ends (`next_producer_id`) and takes the place of the old one when the
markers are written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ottla.coordinator.transaction.states import PREDECESSORS, TransactionState
from ottla.protocol.control_records import EPOCH_BUMP_VERSION
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from ottla.protocol.topic_partition import TopicPartition

MAX_EPOCH = 2**15 - 1
NO_TIMESTAMP = -1


class ProducerIdentity(NamedTuple):
    """A producer id with its epoch."""

    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """One transactional id at one moment."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_timestamp_ms: int = NO_TIMESTAMP
    last_update_timestamp_ms: int = NO_TIMESTAMP
    # The id before the last transition. It identifies a repeated request after the id was rotated.
    previous_producer_id: int = NO_PRODUCER_ID
    # The id that takes over when the transaction that is ending is complete.
    next_producer_id: int = NO_PRODUCER_ID
    # The epoch before the current one, if a repeated request may still name it; not in the log.
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    # The transaction.version of the client that wrote last.
    client_transaction_version: int = 0

    @property
    def producer(self) -> ProducerIdentity:
        """Who may write under the id."""
        return ProducerIdentity(self.producer_id, self.producer_epoch)

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next epoch is the one that only markers may have."""
        return self.producer_epoch >= MAX_EPOCH - 1

    def is_successor(self, producer: ProducerIdentity) -> bool:
        """Whether a producer has the id that takes over as soon as the transaction before has ended."""
        return self.state.is_prepared and producer.producer_id == self.next_producer_id

    def fenced_error(self, producer: ProducerIdentity) -> ApiError:
        """The error for a producer whose epoch is over, or was never given to it."""
        return ApiError(
            ErrorCode.PRODUCER_FENCED,
            f"{self.transactional_id!r} belongs to producer {self.producer_id} in epoch {self.producer_epoch} now, "
            f"not to {producer.producer_id} in epoch {producer.epoch}",
        )

    def still_ending_error(self) -> ApiError:
        """The error for a request that comes before the markers are written."""
        return ApiError(
            ErrorCode.CONCURRENT_TRANSACTIONS, f"the last transaction of {self.transactional_id!r} is still ending"
        )

    @property
    def is_commit(self) -> bool:
        """How a prepared transaction ends."""
        assert self.state.is_prepared, f"{self.transactional_id} is {self.state.label}, not about to end"
        return self.state is TransactionState.PREPARE_COMMIT

    # Transitions

    def initialised(
        self, *, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        """A producer begins: nothing is open under its epoch."""
        is_repeated = (producer_id, epoch) == self.producer
        return self._to(
            TransactionState.EMPTY,
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            # A repeated request keeps the previous id, so that it can be repeated again.
            previous_producer_id=self.previous_producer_id if is_repeated else self.producer_id,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_timestamp_ms=NO_TIMESTAMP,
            last_update_timestamp_ms=now_ms,
        )

    def with_partitions(
        self, added: frozenset[TopicPartition], client_transaction_version: int, now_ms: int
    ) -> TransactionMetadata:
        """The transaction begins, or goes on, with more partitions."""
        is_open = self.state is TransactionState.ONGOING
        return self._to(
            TransactionState.ONGOING,
            partitions=self.partitions | added,
            start_timestamp_ms=self.start_timestamp_ms if is_open else now_ms,
            last_update_timestamp_ms=now_ms,
            client_transaction_version=client_transaction_version,
        )

    def fenced(self) -> TransactionMetadata:
        """The producer loses the right to continue; the abort follows."""
        return self._to(TransactionState.PREPARE_EPOCH_FENCE)

    def prepared(
        self, *, is_commit: bool, client_transaction_version: int, next_producer_id: int, now_ms: int
    ) -> TransactionMetadata:
        """The outcome is settled."""
        if self.producer_epoch == MAX_EPOCH:
            # No producer gets this epoch, but a log may hold it. It ends as under the older protocol: in the same
            # epoch.
            client_transaction_version = 0
        bumps_epoch = client_transaction_version >= EPOCH_BUMP_VERSION
        # Where transactions do not raise the epoch themselves, fencing does.
        is_fenced = self.state is TransactionState.PREPARE_EPOCH_FENCE and self.producer_epoch < MAX_EPOCH
        is_raised = bumps_epoch or is_fenced
        last_epoch = self.last_producer_epoch
        if is_raised:
            last_epoch = self.producer_epoch if bumps_epoch else NO_PRODUCER_EPOCH
        return self._to(
            TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
            producer_epoch=self.producer_epoch + is_raised,
            last_producer_epoch=last_epoch,
            next_producer_id=next_producer_id,
            # An abort may end a transaction that never began, but the log requires a start time.
            start_timestamp_ms=now_ms if self.state.is_at_rest else self.start_timestamp_ms,
            last_update_timestamp_ms=now_ms,
            client_transaction_version=client_transaction_version,
        )

    def completed(self, now_ms: int) -> TransactionMetadata:
        """Every partition has its marker."""
        state = TransactionState.COMPLETE_COMMIT if self.is_commit else TransactionState.COMPLETE_ABORT
        if self.next_producer_id == NO_PRODUCER_ID:
            return self._to(state, partitions=frozenset(), last_update_timestamp_ms=now_ms)
        return self._to(
            state,
            producer_id=self.next_producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=0,
            partitions=frozenset(),
            last_update_timestamp_ms=now_ms,
        )

    def forgotten(self) -> TransactionMetadata:
        """Nobody has used the id for transactional.id.expiration.ms."""
        return self._to(TransactionState.DEAD)

    def _to(self, state: TransactionState, **changes: object) -> TransactionMetadata:
        assert self.state in PREDECESSORS[state], (
            f"{self.transactional_id} cannot go from {self.state.label} to {state.label}"
        )
        changes.setdefault("previous_producer_id", self.producer_id)
        following = replace(self, state=state, **changes)  # type: ignore[arg-type]
        assert following.producer_id != self.producer_id or following.producer_epoch >= self.producer_epoch, (
            f"the epoch of {self.transactional_id} would go from {self.producer_epoch} to {following.producer_epoch}"
        )
        return following


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition indexes by topic name, both sorted."""
    indexes: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        indexes.setdefault(topic, []).append(index)
    return indexes
