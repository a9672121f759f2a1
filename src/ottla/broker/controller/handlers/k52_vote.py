"""Vote: a replica asks for a voter's vote, or whether it would get it.

Versions: 1 adds directory ids and the leader's address (KIP-853); 2 the pre-vote (KIP-996).
"""

from ottla.broker.quorum.wire import encode_refusal
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.vote_request import VoteRequest
from ottla.protocol.schema import Message

API_KEY = ApiKey.VOTE
REQUEST = VoteRequest


async def handle(context: RequestContext, request: VoteRequest) -> Message:
    return await context.broker.metadata.log.respond(request, context.api_version)


def error_response(context: RequestContext, request: VoteRequest, error: ApiError) -> Message:
    del context
    return encode_refusal(request, error.code)
