"""Envelope: a broker forwards the request of a client, with the client's principal and address (KIP-590).

There is one version. The request is handled as if the client had sent it to this listener. An error code of the
Envelope itself means that it was not: the broker looks for another controller (NOT_CONTROLLER), closes the client's
connection so that it asks for versions again (UNSUPPORTED_VERSION), or has sent something that makes no sense.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.envelope import Forwarded, open_envelope, seal_response
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.envelope_request import EnvelopeRequest
from ottla.protocol.messages.envelope_response import EnvelopeResponse
from ottla.protocol.response_errors import error_codes
from ottla.protocol.schema import Message

API_KEY = ApiKey.ENVELOPE
REQUEST = EnvelopeRequest


async def handle(context: RequestContext, request: EnvelopeRequest) -> EnvelopeResponse:
    apis = context.broker.dispatcher.apis
    forwarded = open_envelope(request, {key: api.request.FLEXIBLE_FROM for key, api in apis.items()})
    api = apis.get(forwarded.header.api_key)
    if api is None or forwarded.header.api_version not in api.versions:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    role = context.broker.metadata.controller_role
    if role is None or not role.is_active:
        raise ApiError(ErrorCode.NOT_CONTROLLER)
    response = await _answer(context, forwarded)
    # The lead may have been lost meanwhile. That is not the client's business: the broker asks the next controller.
    if response is None or ErrorCode.NOT_CONTROLLER in error_codes(response):
        raise ApiError(ErrorCode.NOT_CONTROLLER)
    return seal_response(response, api.request, forwarded.header)


async def _answer(context: RequestContext, forwarded: Forwarded) -> Message | None:
    header = forwarded.header
    on_behalf = RequestContext(
        header.api_key,
        header.api_version,
        header.client_id,
        forwarded.client_host,
        context.listener,
        forwarded.principal,
        context.broker,
        header.correlation_id,
    )
    try:
        return await context.broker.dispatcher.answer(on_behalf, forwarded.frame, header.body_position)
    except MalformedMessage as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"The forwarded request cannot be read: {error}") from None


def error_response(context: RequestContext, request: EnvelopeRequest, error: ApiError) -> EnvelopeResponse:
    del context, request
    return EnvelopeResponse(error_code=error.code)
