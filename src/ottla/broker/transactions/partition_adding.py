"""Makes sure that partitions belong to a transaction before records for them are taken (KIP-890).

Clients of transaction.version 2 leave it to the broker to add a partition when they first write to it. Older ones add
it themselves, and the broker asks the coordinator whether that is so: a write that comes late, after its transaction
has ended, would otherwise begin one that nobody ends.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from ottla.protocol.errors import ApiError


class TransactionSupport(Enum):
    """What a client of a request's version understands."""

    # Produce up to 10, TxnOffsetCommit up to 3: it knows no TRANSACTION_ABORTABLE.
    DEFAULT_ERROR = "default error"
    # Produce 11, TxnOffsetCommit 4.
    GENERIC_ERROR = "generic error"
    # Produce from 12 on, TxnOffsetCommit from 5 on: partitions are added here.
    ADD_PARTITION = "add partition"

    @property
    def adds_partitions(self) -> bool:
        return self is TransactionSupport.ADD_PARTITION


class PartitionAdding:
    """Asks the coordinators of transactions."""

    async def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[tuple[str, int]],
        support: TransactionSupport,
    ) -> dict[tuple[str, int], ApiError]:
        """The partitions that must not be written, with what the client is to hear."""
        raise NotImplementedError
