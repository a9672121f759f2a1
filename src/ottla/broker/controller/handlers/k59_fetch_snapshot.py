"""FetchSnapshot: a replica of the metadata log copies a snapshot from the leader, piece by piece (KIP-630).

Versions: 1 adds the replica's directory id and the leader's address (KIP-853).
"""

from ottla.broker.quorum.wire import encode_refusal
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from ottla.protocol.schema import Message

API_KEY = ApiKey.FETCH_SNAPSHOT
REQUEST = FetchSnapshotRequest


async def handle(context: RequestContext, request: FetchSnapshotRequest) -> Message:
    return await context.broker.metadata.log.respond(request, context.api_version)


def error_response(context: RequestContext, request: FetchSnapshotRequest, error: ApiError) -> Message:
    del context
    return encode_refusal(request, error.code)
