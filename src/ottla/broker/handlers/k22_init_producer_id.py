"""InitProducerId: gives an idempotent producer its id.

Versions: 2 is flexible, 3 lets a producer continue with a higher epoch (KIP-360), 4 and 5 add error codes; 6 belongs to
two-phase commit (KIP-939), which Kafka does not enable either. A transactional id needs the transaction coordinator,
which this broker does not have yet: the answer is final, so that a client stops instead of trying for minutes.
"""

import logging

from ottla.broker.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse

logger = logging.getLogger("ottla.broker.producer_ids")

API_KEY = ApiKey.INIT_PRODUCER_ID
REQUEST = InitProducerIdRequest


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A new producer id in epoch 0."""
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "The transactional id is empty")
        logger.warning(
            "Producer %s asks for transactions (transactional.id %s), which this release does not serve yet",
            context.client_id,
            request.transactional_id,
        )
        # Final for every client, and nearest to the truth of what an error code can say.
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "Transactions are not served by this broker yet")
    producer_id = await context.broker.producer_ids.next_id()
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def error_response(context: RequestContext, request: InitProducerIdRequest, error: ApiError) -> InitProducerIdResponse:
    """No id."""
    del context, request
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
