"""InitProducerId: gives a producer its id and epoch.

Versions: 2 is flexible, 3 lets a producer continue with a higher epoch (KIP-360), 4 answers PRODUCER_FENCED where
earlier ones get INVALID_PRODUCER_EPOCH, 5 belongs to KIP-890; 6 belongs to two-phase commit (KIP-939), which Kafka
does not enable either. Without a transactional id every call gives a new id.
"""

from ottla.broker.coordinators.client_errors import fencing_error
from ottla.broker.requests.request_context import RequestContext
from ottla.coordinator.transaction.metadata import ProducerIdentity
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse
from ottla.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

API_KEY = ApiKey.INIT_PRODUCER_ID
REQUEST = InitProducerIdRequest

_KNOWS_FENCED_FROM = 4


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A new id in epoch 0, or the next epoch of a transactional id."""
    expected = _expected(request)
    if request.transactional_id is None:
        producer_id = await context.broker.coordinators.producer_ids.next_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    if not request.transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The transactional id is empty")
    producer = await context.broker.coordinators.transactions.init_producer_id(
        request.transactional_id, request.transaction_timeout_ms, expected
    )
    return InitProducerIdResponse(producer_id=producer.producer_id, producer_epoch=producer.epoch)


def error_response(context: RequestContext, request: InitProducerIdRequest, error: ApiError) -> InitProducerIdResponse:
    """No id."""
    del request
    code = fencing_error(error.code, context.api_version, known_from=_KNOWS_FENCED_FROM)
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)


def _expected(request: InitProducerIdRequest) -> ProducerIdentity | None:
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"producer id {request.producer_id} and epoch {request.producer_epoch} must come together",
        )
    return ProducerIdentity(request.producer_id, request.producer_epoch) if has_id else None
