"""AddOffsetsToTxn: the offsets of a group join a transaction, as the partition of the offsets topic that holds them.

Only clients of the older protocol send it; those of transaction.version 2 leave it to TxnOffsetCommit. Versions: 2
answers PRODUCER_FENCED where earlier ones get INVALID_PRODUCER_EPOCH, 3 is flexible, 4 belongs to KIP-890.
"""

from ottla.broker.coordinators.client_errors import fencing_error
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.requests.request_context import RequestContext
from ottla.coordinator.transaction.metadata import ProducerIdentity
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from ottla.protocol.topic_partition import TopicPartition

API_KEY = ApiKey.ADD_OFFSETS_TO_TXN
REQUEST = AddOffsetsToTxnRequest

_KNOWS_FENCED_FROM = 2


async def handle(context: RequestContext, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    if not request.transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The transactional id is empty")
    partition = TopicPartition(OFFSETS_TOPIC, context.broker.coordinators.groups.topic.partition_of(request.group_id))
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    await context.broker.coordinators.transactions.add_partitions(request.transactional_id, producer, (partition,), 0)
    return AddOffsetsToTxnResponse()


def error_response(
    context: RequestContext, _request: AddOffsetsToTxnRequest, error: ApiError
) -> AddOffsetsToTxnResponse:
    code = fencing_error(error.code, context.api_version, known_from=_KNOWS_FENCED_FROM)
    return AddOffsetsToTxnResponse(error_code=code)
