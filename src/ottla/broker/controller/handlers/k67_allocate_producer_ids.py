"""AllocateProducerIds: a broker gets a block of producer ids (KIP-730).

There is one version.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.ALLOCATE_PRODUCER_IDS
REQUEST = AllocateProducerIdsRequest


async def handle(context: RequestContext, request: AllocateProducerIdsRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(
    context: RequestContext, request: AllocateProducerIdsRequest, error: ApiError
) -> AllocateProducerIdsResponse:
    del context, request
    return AllocateProducerIdsResponse(error_code=error.code)
