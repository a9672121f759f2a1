"""BrokerRegistration: a broker registers when it starts, and gets the epoch of this life of its process (KIP-631).

Versions: 2 adds log directories (KIP-858); 3 the epoch of the previous life; 4 lets the lowest level of a feature be 0.
"""

import logging

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from ottla.protocol.schema import Message

logger = logging.getLogger("ottla.broker.controller")

API_KEY = ApiKey.BROKER_REGISTRATION
REQUEST = BrokerRegistrationRequest


async def handle(context: RequestContext, request: BrokerRegistrationRequest) -> Message:
    try:
        return await context.broker.metadata.controller.handle(context, request)
    except ApiError as error:
        if error.code is not ErrorCode.NOT_CONTROLLER:
            # The answer has no place for the reason.
            logger.warning("Broker %d at %s is not registered: %s", request.broker_id, context.client_host, error)
        raise


def error_response(
    context: RequestContext, request: BrokerRegistrationRequest, error: ApiError
) -> BrokerRegistrationResponse:
    del context, request
    return BrokerRegistrationResponse(error_code=error.code)
