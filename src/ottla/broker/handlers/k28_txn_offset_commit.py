"""TxnOffsetCommit (28): a group's position in partitions moves with a transaction (KIP-98, KIP-447, KIP-890).

Versions: 2 adds the leader epoch of the last record consumed; 3 is flexible and names member and generation, so that a
member that was replaced is fenced; 4 may answer TRANSACTION_ABORTABLE; 5 needs no AddOffsetsToTxn before it, as the
group's partition of the offsets topic becomes part of the transaction here.

Each partition gets a row. A topic or partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION; the others are still
committed. A refusal by the transaction's coordinator, by the group or by the log is repeated for every other row. The
coordinator is asked only by the first commit of a transaction, before the group is.
"""

from collections.abc import Iterator
from itertools import repeat

from ottla.broker.coordinators.client_errors import coordinator_error
from ottla.broker.coordinators.groups.record_batches import offsets_bytes_min
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.transactions.partition_adding import TransactionSupport
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import ClusterImage
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic
from ottla.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ottla.protocol.record_batch import NO_SEQUENCE
from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.transaction_verification import VerificationGuard

API_KEY = ApiKey.TXN_OFFSET_COMMIT
REQUEST = TxnOffsetCommitRequest

_KNOWS_LOADING_FROM = 2
_KNOWS_ABORTABLE_FROM = 4
_ADDS_PARTITIONS_FROM = 5


async def handle(context: RequestContext, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    if offsets_bytes_min(request) > context.broker.config.get_int("message.max.bytes"):
        return error_response(context, request, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
    existing, exists = _existing(context.broker.image, request)
    codes: Iterator[int] = iter(())
    if existing:
        known = TxnOffsetCommitRequest(
            transactional_id=request.transactional_id,
            group_id=request.group_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            generation_id=request.generation_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            topics=existing,
        )
        try:
            response = await _commit(context, known)
        except ApiError as error:
            codes = repeat(_code_for(context.api_version, error.code))
        else:
            codes = (partition.error_code for topic in response.topics for partition in topic.partitions)
    return _response(request, exists, codes)


def error_response(
    context: RequestContext, request: TxnOffsetCommitRequest, error: ApiError
) -> TxnOffsetCommitResponse:
    every_partition = [[True] * len(topic.partitions) for topic in request.topics]
    return _response(request, every_partition, repeat(_code_for(context.api_version, error.code)))


async def _commit(context: RequestContext, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    guard = await _verify(context, request)
    response = context.broker.coordinators.groups.commit_transactional_offsets(request, guard)
    return response if isinstance(response, TxnOffsetCommitResponse) else await response


async def _verify(context: RequestContext, request: TxnOffsetCommitRequest) -> VerificationGuard | None:
    """Ensures that the group's partition belongs to the transaction; ApiError if not."""
    broker = context.broker
    offsets_partition = TopicPartition(
        OFFSETS_TOPIC, broker.coordinators.groups.partition_of_transaction(request.group_id)
    )
    if request.producer_id < 0:
        raise ApiError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"{request.producer_id} is not a producer id; InitProducerId gives one",
        )
    support = TransactionSupport.of(
        context.api_version, abortable_from=_KNOWS_ABORTABLE_FROM, adding_from=_ADDS_PARTITIONS_FROM
    )
    try:
        guard = broker.replicas.partition(*offsets_partition).begin_verification(
            request.producer_id, request.producer_epoch, NO_SEQUENCE, supports_epoch_bump=support.adds_partitions
        )
        if guard is not None:
            refused = await broker.coordinators.partition_adding.add_or_verify(
                request.transactional_id,
                request.producer_id,
                request.producer_epoch,
                {offsets_partition},
                support,
            )
            if refused:
                raise _retriable(refused[offsets_partition], support)
    except ApiError as error:
        raise coordinator_error(error) from error
    return guard


def _retriable(error: ApiError, support: TransactionSupport) -> ApiError:
    """Clients before 4.0 give up on CONCURRENT_TRANSACTIONS here; they do look for the coordinator again."""
    if error.code is ErrorCode.CONCURRENT_TRANSACTIONS and not support.adds_partitions:
        return ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The transaction before is still ending; send it again")
    return error


def _code_for(api_version: int, code: ErrorCode) -> ErrorCode:
    """For producers before Kafka 2.0, which treat COORDINATOR_LOAD_IN_PROGRESS as fatal."""
    if api_version < _KNOWS_LOADING_FROM and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code


def _existing(
    image: ClusterImage, request: TxnOffsetCommitRequest
) -> tuple[list[TxnOffsetCommitRequestTopic], list[list[bool]]]:
    """The topics and partitions that exist; and for each row whether it does."""
    existing: list[TxnOffsetCommitRequestTopic] = []
    exists: list[list[bool]] = []
    for topic in request.topics:
        known = image.topics.by_name(topic.name)
        partitions = () if known is None else known.partitions
        found = [partition.partition_index in partitions for partition in topic.partitions]
        exists.append(found)
        kept = [partition for partition, is_there in zip(topic.partitions, found, strict=True) if is_there]
        if kept:
            existing.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=kept))
    return existing, exists


def _response(
    request: TxnOffsetCommitRequest, exists: list[list[bool]], codes: Iterator[int]
) -> TxnOffsetCommitResponse:
    """A row for each requested one, in order: that it does not exist, or the outcome of the commit."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=next(codes) if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    )
                    for partition, is_there in zip(topic.partitions, found, strict=True)
                ],
            )
            for topic, found in zip(request.topics, exists, strict=True)
        ]
    )
