"""UpdateFeatures: change the levels of features (KIP-584).

Versions: 1 adds the upgrade type and validation only; 2 drops the rows of single features (KIP-1022).

Either all updates are made or none, so every version has one error for the whole request, as in Kafka 4.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.update_features_request import UpdateFeaturesRequest
from ottla.protocol.messages.update_features_response import UpdateFeaturesResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.UPDATE_FEATURES
REQUEST = UpdateFeaturesRequest


async def handle(context: RequestContext, request: UpdateFeaturesRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(
    _context: RequestContext, _request: UpdateFeaturesRequest, error: ApiError
) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
