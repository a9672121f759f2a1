"""How transactions are listed and described (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ottla.coordinator.transaction.metadata import TransactionMetadata, by_topic
from ottla.coordinator.transaction.states import STATES_BY_LABEL
from ottla.protocol.messages.describe_transactions_response import TopicData, TransactionState
from ottla.protocol.messages.list_transactions_response import TransactionState as ListedTransaction


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """Which transactions to list; an empty field, or None, lets everything through."""

    states: frozenset[str]
    producer_ids: frozenset[int]
    # Open for longer than this; below 0 for any time.
    duration_ms: int
    id_matches: Callable[[str], object] | None = None

    def matches(self, metadata: TransactionMetadata, now_ms: int) -> bool:
        if self.producer_ids and metadata.producer_id not in self.producer_ids:
            return False
        if self.states and metadata.state.label not in self.states:
            return False
        if self.duration_ms >= 0 and now_ms - metadata.start_timestamp_ms <= self.duration_ms:
            return False
        return self.id_matches is None or bool(self.id_matches(metadata.transactional_id))


def unknown_states(names: Collection[str]) -> list[str]:
    """The names that no state has."""
    return [name for name in names if name not in STATES_BY_LABEL]


def list_transaction(metadata: TransactionMetadata) -> ListedTransaction:
    """The row of a listing."""
    return ListedTransaction(
        transactional_id=metadata.transactional_id,
        producer_id=metadata.producer_id,
        transaction_state=metadata.state.label,
    )


def describe_transaction(metadata: TransactionMetadata) -> TransactionState:
    """Everything that is known about a transactional id."""
    return TransactionState(
        transactional_id=metadata.transactional_id,
        transaction_state=metadata.state.label,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_timestamp_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[TopicData(topic=topic, partitions=ids) for topic, ids in by_topic(metadata.partitions).items()],
    )
