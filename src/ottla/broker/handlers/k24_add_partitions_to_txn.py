"""AddPartitionsToTxn: partitions join a transaction.

Versions 0-3 are sent by clients, about one transaction: 2 answers PRODUCER_FENCED where earlier ones get
INVALID_PRODUCER_EPOCH, 3 is flexible. Versions 4 and 5 are sent by brokers, about several transactions, to add
partitions or only to verify them (KIP-890). If a partition does not exist, none is added: the others are
OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ottla.broker.coordinators.client_errors import fencing_error
from ottla.broker.requests.request_context import RequestContext
from ottla.coordinator.transaction.metadata import ProducerIdentity
from ottla.metadata.controller.topic_names import is_internal
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.control_records import EPOCH_BUMP_VERSION
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from ottla.protocol.topic_partition import TopicPartition

API_KEY = ApiKey.ADD_PARTITIONS_TO_TXN
REQUEST = AddPartitionsToTxnRequest

_KNOWS_FENCED_FROM = 2
_BROKERS_FROM = 4

CodeOf = Callable[[TopicPartition], ErrorCode]


async def handle(context: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """A row for each partition."""
    if context.api_version >= _BROKERS_FROM:
        # Together: each of them is committed when its replicas have it.
        decided = await asyncio.gather(*(_decide(context, transaction) for transaction in request.transactions))
        results = [
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id, topic_results=_rows(transaction.topics, code_of)
            )
            for transaction, code_of in zip(request.transactions, decided, strict=True)
        ]
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    rows = _rows(transaction.topics, await _decide(context, transaction))
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)


def error_response(
    context: RequestContext, request: AddPartitionsToTxnRequest, error: ApiError
) -> AddPartitionsToTxnResponse:
    """The same error for every partition."""
    if context.api_version >= _BROKERS_FROM:
        return AddPartitionsToTxnResponse(error_code=error.code)
    rows = _rows(request.v3_and_below_topics, lambda _: error.code)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)


async def _decide(context: RequestContext, transaction: AddPartitionsToTxnTransaction) -> CodeOf:
    """The outcome for each partition of one transaction."""
    partitions = {TopicPartition(topic.name, index) for topic in transaction.topics for index in topic.partitions}
    if context.api_version < _BROKERS_FROM and any(is_internal(topic.name) for topic in transaction.topics):
        # A group's offsets are added by AddOffsetsToTxn.
        return lambda partition: (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED if is_internal(partition.topic) else ErrorCode.OPERATION_NOT_ATTEMPTED
        )
    topics = context.broker.image.topics
    missing = {
        partition
        async for partition in context.time_slice().over(partitions)
        if topics.partition_of(*partition) is None
    }
    if missing:
        return lambda partition: (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition in missing else ErrorCode.OPERATION_NOT_ATTEMPTED
        )
    producer = ProducerIdentity(transaction.producer_id, transaction.producer_epoch)
    coordinator = context.broker.coordinators.transactions
    is_broker = context.api_version >= _BROKERS_FROM
    try:
        if not transaction.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "The transactional id is empty")
        if transaction.verify_only:
            unadded = coordinator.unadded_partitions(transaction.transactional_id, producer, partitions)
            return lambda partition: ErrorCode.TRANSACTION_ABORTABLE if partition in unadded else ErrorCode.NONE
        await coordinator.add_partitions(
            transaction.transactional_id, producer, partitions, EPOCH_BUMP_VERSION if is_broker else 0
        )
    except ApiError as error:
        code = fencing_error(error.code, context.api_version, known_from=_KNOWS_FENCED_FROM)
        return lambda _: code
    return lambda _: ErrorCode.NONE


def _rows(topics: Sequence[AddPartitionsToTxnTopic], code_of: CodeOf) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=code_of(TopicPartition(topic.name, index))
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
