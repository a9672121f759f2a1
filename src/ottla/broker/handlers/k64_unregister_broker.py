"""UnregisterBroker: removes the registration of a broker that will not come back (KIP-631).

There is one version.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from ottla.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.UNREGISTER_BROKER
REQUEST = UnregisterBrokerRequest


async def handle(context: RequestContext, request: UnregisterBrokerRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(
    context: RequestContext, request: UnregisterBrokerRequest, error: ApiError
) -> UnregisterBrokerResponse:
    del context, request
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)
