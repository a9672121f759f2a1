"""Ensures that partitions belong to a transaction before records are appended to them (KIP-890).

For clients of transaction.version 2, the broker adds a partition when they first write to it. Older clients add it
themselves, and the broker verifies that with the coordinator: a late write, after its transaction has ended, would
otherwise begin a transaction that nobody ends.

While the previous transaction is still ending, the broker retries an addition for a moment, so that the client need
not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from enum import Enum

from ottla.broker.coordinators.internal_topic import InternalTopic
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.coordinator.transaction.metadata import by_topic
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.topic_partition import TopicPartition

# With these errors the coordinator cannot tell now: the client has to send its records again.
_UNDECIDED = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class TransactionSupport(Enum):
    """What a client understands, by the version of its request."""

    # Produce up to 10, TxnOffsetCommit up to 3: without TRANSACTION_ABORTABLE.
    DEFAULT_ERROR = "default error"
    # Produce 11, TxnOffsetCommit 4.
    GENERIC_ERROR = "generic error"
    # Produce from 12 on, TxnOffsetCommit from 5 on: the broker adds partitions.
    ADD_PARTITION = "add partition"

    @classmethod
    def of(cls, version: int, *, abortable_from: int, adding_from: int) -> TransactionSupport:
        """`abortable_from` and `adding_from` are the first versions that know TRANSACTION_ABORTABLE, and that leave
        adding partitions to the broker."""
        if version >= adding_from:
            return cls.ADD_PARTITION
        return cls.GENERIC_ERROR if version >= abortable_from else cls.DEFAULT_ERROR

    @property
    def adds_partitions(self) -> bool:
        return self is TransactionSupport.ADD_PARTITION


class PartitionAdding:
    """Asks the coordinators of transactions."""

    def __init__(self, config: TransactionConfig, topic: InternalTopic, channel: TransactionChannel) -> None:
        self._config = config
        self._topic = topic
        self._channel = channel

    async def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        support: TransactionSupport,
    ) -> dict[TopicPartition, ApiError]:
        """The partitions that must not be written to, with the errors for the client."""
        request = _request(transactional_id, producer_id, producer_epoch, partitions, support)
        try:
            node_id = await self._topic.leader_of(transactional_id)
            errors = await self._ask(node_id, request, is_patient=support.adds_partitions)
        except ApiError as error:
            errors = dict.fromkeys(partitions, error.code)
        return {partition: _for_client(code, support) for partition, code in errors.items()}

    async def _ask(
        self, node_id: int, request: AddPartitionsToTxnRequest, *, is_patient: bool
    ) -> dict[TopicPartition, ErrorCode]:
        """The errors by partition."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._config.add_partitions_to_txn_retry_backoff_max_ms / 1000
        while True:
            answer = await self._channel.add_partitions(node_id, request)
            if answer.error_code:
                raise ApiError(ErrorCode(answer.error_code))
            errors = {
                TopicPartition(topic.name, row.partition_index): ErrorCode(row.partition_error_code)
                for transaction in answer.results_by_transaction
                for topic in transaction.topic_results
                for row in topic.results_by_partition
                if row.partition_error_code
            }
            if not is_patient or ErrorCode.CONCURRENT_TRANSACTIONS not in errors.values() or loop.time() >= deadline:
                return errors
            await asyncio.sleep(self._config.add_partitions_to_txn_retry_backoff_ms / 1000)


def _request(
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Collection[TopicPartition],
    support: TransactionSupport,
) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                verify_only=not support.adds_partitions,
                topics=[
                    AddPartitionsToTxnTopic(name=name, partitions=ids) for name, ids in by_topic(partitions).items()
                ],
            )
        ]
    )


def _for_client(code: ErrorCode, support: TransactionSupport) -> ApiError:
    """Translates a coordinator's error into one that producers know."""
    if code in _UNDECIDED:
        return ApiError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"The coordinator could not tell whether the partition is in the transaction ({code.name}); send it again",
        )
    if code is ErrorCode.PRODUCER_FENCED:
        return ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, "The transaction of this producer epoch is over")
    if code is ErrorCode.TRANSACTION_ABORTABLE and support is TransactionSupport.DEFAULT_ERROR:
        return ApiError(ErrorCode.INVALID_TXN_STATE, "The partition is not in the producer's transaction")
    return ApiError(code)
