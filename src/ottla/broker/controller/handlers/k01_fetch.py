"""Fetch on a listener of controllers: replicas of the metadata log copy it from its leader (KIP-595).

Versions: from 12 on a fetch names the epoch of the last record that it has, without which logs cannot be reconciled;
older ones are refused. 13 names the topic by its id, 15 moves the replica's id, 17 adds its directory id (KIP-853), 18
the high watermark that it knows (KIP-1166).
"""

from ottla.broker.quorum.wire import encode_refusal
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.schema import Message

API_KEY = ApiKey.FETCH
REQUEST = FetchRequest


async def handle(context: RequestContext, request: FetchRequest) -> Message:
    return await context.broker.metadata.log.respond(request, context.api_version)


def error_response(context: RequestContext, request: FetchRequest, error: ApiError) -> Message:
    del context
    return encode_refusal(request, error.code)
