"""AssignReplicasToDirs: a broker tells in which of its log directories replicas are (KIP-858).

There is one version.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from ottla.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.ASSIGN_REPLICAS_TO_DIRS
REQUEST = AssignReplicasToDirsRequest


async def handle(context: RequestContext, request: AssignReplicasToDirsRequest) -> Message:
    return await context.broker.metadata.controller.handle(context, request)


def error_response(
    context: RequestContext, request: AssignReplicasToDirsRequest, error: ApiError
) -> AssignReplicasToDirsResponse:
    del context, request
    return AssignReplicasToDirsResponse(error_code=error.code)
