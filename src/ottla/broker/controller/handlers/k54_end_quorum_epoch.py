"""EndQuorumEpoch: a leader of the metadata quorum resigns, and says who should follow it (KIP-595).

Versions: 1 adds directory ids and the leader's address (KIP-853).
"""

from ottla.broker.quorum.wire import encode_refusal
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from ottla.protocol.schema import Message

API_KEY = ApiKey.END_QUORUM_EPOCH
REQUEST = EndQuorumEpochRequest


async def handle(context: RequestContext, request: EndQuorumEpochRequest) -> Message:
    return await context.broker.metadata.log.respond(request, context.api_version)


def error_response(context: RequestContext, request: EndQuorumEpochRequest, error: ApiError) -> Message:
    del context
    return encode_refusal(request, error.code)
