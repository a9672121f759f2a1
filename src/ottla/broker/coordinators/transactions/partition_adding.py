"""Ensures that partitions belong to a transaction before records are appended to them (KIP-890).

For clients of transaction.version 2, the broker adds a partition when they first write to it. Older clients add it
themselves, and the broker verifies that with the coordinator: a late write, after its transaction has ended, would
otherwise begin a transaction that nobody ends.

While the previous transaction is still ending, the broker retries an addition for a moment, so that the client need
not.

The coordinator may be another broker. Then the request joins what other connections want to know of that broker
(`broker_queues`): one AddPartitionsToTxn asks about all of them, each transactional id once. A broker that does not
answer is a NETWORK_EXCEPTION. Nobody is asked twice: whether the records may be written is the client's to ask again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ottla.broker.coordinators.internal_topic import InternalTopic
from ottla.broker.coordinators.transactions.broker_queues import BrokerQueues
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.peers import PeerUnavailable
from ottla.broker.tasks import Tasks
from ottla.client.errors import code_of
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.coordinator.transaction.metadata import by_topic
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

# So many transactions are asked about in one request. The rest waits for the next one.
TRANSACTIONS_PER_REQUEST_MAX: Final = 1_000

# With these errors the coordinator cannot tell now: the client has to send its records again.
_UNDECIDED = frozenset(
    {
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


Errors = dict[TopicPartition, ErrorCode]


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """One transaction and some of its partitions, and who wants to know."""

    transaction: AddPartitionsToTxnTransaction
    answer: asyncio.Future[Errors]

    @property
    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic.name, index) for topic in self.transaction.topics for index in topic.partitions]

    def answered(self, errors: Errors) -> None:
        """Tells the errors of the partitions that have one, unless nobody waits any more."""
        if not self.answer.done():
            self.answer.set_result(errors)

    def refused(self, code: ErrorCode) -> None:
        """The same error for every partition."""
        self.answered(dict.fromkeys(self.partitions, code))


class PartitionAdding:
    """Asks the coordinators of transactions."""

    def __init__(
        self, node_id: int, config: TransactionConfig, topic: InternalTopic, channel: TransactionChannel, tasks: Tasks
    ) -> None:
        self._node_id = node_id
        self._config = config
        self._topic = topic
        self._channel = channel
        self._queues = BrokerQueues("partitions of transactions", tasks, _choose, self._send)

    async def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        support: TransactionSupport,
    ) -> dict[TopicPartition, ApiError]:
        """The partitions that must not be written to, with the errors of the coordinator."""
        transaction = _transaction(transactional_id, producer_id, producer_epoch, partitions, support)
        errors = await self._ask_patiently(transaction, is_patient=support.adds_partitions)
        return {partition: _error(code, support) for partition, code in errors.items()}

    async def _ask_patiently(self, transaction: AddPartitionsToTxnTransaction, *, is_patient: bool) -> Errors:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._config.add_partitions_to_txn_retry_backoff_max_ms / 1000
        while True:
            errors = await self._ask(transaction)
            if not is_patient or ErrorCode.CONCURRENT_TRANSACTIONS not in errors.values() or loop.time() >= deadline:
                return errors
            await asyncio.sleep(self._config.add_partitions_to_txn_retry_backoff_ms / 1000)

    async def _ask(self, transaction: AddPartitionsToTxnTransaction) -> Errors:
        """Asks whoever coordinates the transaction now."""
        question = _Question(transaction, asyncio.get_running_loop().create_future())
        try:
            broker_id = self._topic.known_leader_of(transaction.transactional_id)
        except ApiError as error:
            question.refused(error.code)
        else:
            if broker_id == self._node_id:
                await self._send(broker_id, [question])
            else:
                self._queues.put(broker_id, question)
        return await question.answer

    async def _send(self, broker_id: int, questions: list[_Question]) -> None:
        request = AddPartitionsToTxnRequest(transactions=[question.transaction for question in questions])
        try:
            answer = await self._channel.add_partitions(broker_id, request)
            refusal = code_of(answer.error_code)
            errors = _errors(answer)
        except PeerUnavailable:
            refusal, errors = ErrorCode.NETWORK_EXCEPTION, {}
        except Exception:
            # Whatever it is, clients wait for an answer, and the next questions must be asked.
            logger.exception("Broker %d could not be asked about transactions", broker_id)
            refusal, errors = ErrorCode.NETWORK_EXCEPTION, {}
        if refusal is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            # What a broker may not do is none of its client's business.
            refusal = ErrorCode.INVALID_TXN_STATE
        for question in questions:
            told = errors.get(question.transaction.transactional_id)
            if refusal is not ErrorCode.NONE:
                question.refused(refusal)
            elif told is None:
                question.refused(ErrorCode.NETWORK_EXCEPTION)
            else:
                question.answered(told)


def _choose(waiting: list[_Question]) -> tuple[list[_Question], list[_Question]]:
    """Each transactional id once, because the answer has one row for each. Those that gave up are left out."""
    chosen: dict[str, _Question] = {}
    later: list[_Question] = []
    for question in waiting:
        if question.answer.done():
            continue
        transactional_id = question.transaction.transactional_id
        if transactional_id in chosen or len(chosen) >= TRANSACTIONS_PER_REQUEST_MAX:
            later.append(question)
        else:
            chosen[transactional_id] = question
    return list(chosen.values()), later


def _errors(answer: AddPartitionsToTxnResponse) -> dict[str, Errors]:
    """By transactional id, the partitions with an error."""
    return {
        transaction.transactional_id: {
            TopicPartition(topic.name, row.partition_index): code_of(row.partition_error_code)
            for topic in transaction.topic_results
            for row in topic.results_by_partition
            if row.partition_error_code
        }
        for transaction in answer.results_by_transaction
    }


def _transaction(
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Collection[TopicPartition],
    support: TransactionSupport,
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        verify_only=not support.adds_partitions,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=ids) for name, ids in by_topic(partitions).items()],
    )


def _error(code: ErrorCode, support: TransactionSupport) -> ApiError:
    """A coordinator's error, in words that clients know."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ApiError(ErrorCode.INVALID_PRODUCER_EPOCH, "The transaction of this producer epoch is over")
    if code is ErrorCode.TRANSACTION_ABORTABLE and support is TransactionSupport.DEFAULT_ERROR:
        return ApiError(ErrorCode.INVALID_TXN_STATE, "The partition is not in the producer's transaction")
    return ApiError(code)


def error_for_producer(error: ApiError, support: TransactionSupport) -> ApiError:
    """The same as an answer to Produce. Where the coordinator could not tell, it is NOT_ENOUGH_REPLICAS: every producer
    sends its records again, and does not look for another leader. A new one knows CONCURRENT_TRANSACTIONS."""
    is_unfinished = error.code is ErrorCode.CONCURRENT_TRANSACTIONS and not support.adds_partitions
    if error.code not in _UNDECIDED and not is_unfinished:
        return error
    return ApiError(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        f"The coordinator could not tell whether the partition is in the transaction ({error.code.name}); "
        "send it again",
    )
