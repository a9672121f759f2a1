"""SyncGroup (14): the leader brings the assignment, everybody else comes for theirs.

Versions: 1 throttles; 3 adds static members; 4 is flexible; 5 carries the protocol type and name that the member
believes in, and both must be there and be the group's (KIP-559).
"""

from collections.abc import Awaitable

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.sync_group_request import SyncGroupRequest
from ottla.protocol.messages.sync_group_response import SyncGroupResponse

API_KEY = ApiKey.SYNC_GROUP
REQUEST = SyncGroupRequest

_PROTOCOL_FROM = 5


def handle(context: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
    if context.api_version >= _PROTOCOL_FROM and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    answer = context.broker.coordinators.groups.sync(request)
    return answer.result() if answer.done() else answer


def error_response(_context: RequestContext, _request: SyncGroupRequest, error: ApiError) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)
