"""ControllerRegistration: a controller tells where it listens and which features it knows (KIP-919).

There is one version.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from ottla.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.CONTROLLER_REGISTRATION
REQUEST = ControllerRegistrationRequest


async def handle(context: RequestContext, request: ControllerRegistrationRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(
    context: RequestContext, request: ControllerRegistrationRequest, error: ApiError
) -> ControllerRegistrationResponse:
    del context, request
    return ControllerRegistrationResponse(error_code=error.code, error_message=error.message)
