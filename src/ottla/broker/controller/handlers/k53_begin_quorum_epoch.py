"""BeginQuorumEpoch: a new leader of the metadata quorum tells the voters about itself (KIP-595).

Versions: 1 adds directory ids and the leader's address (KIP-853).
"""

from ottla.broker.quorum.wire import encode_refusal
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from ottla.protocol.schema import Message

API_KEY = ApiKey.BEGIN_QUORUM_EPOCH
REQUEST = BeginQuorumEpochRequest


async def handle(context: RequestContext, request: BeginQuorumEpochRequest) -> Message:
    return await context.broker.metadata.log.respond(request, context.api_version)


def error_response(context: RequestContext, request: BeginQuorumEpochRequest, error: ApiError) -> Message:
    del context
    return encode_refusal(request, error.code)
