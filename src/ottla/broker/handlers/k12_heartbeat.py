"""Heartbeat (12): a member lives, and asks whether it must rejoin.

Versions: 1 throttles; 3 adds static members; 4 is flexible.

While the group is still being loaded the answer is NONE: nothing is known against the member yet.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.heartbeat_response import HeartbeatResponse

API_KEY = ApiKey.HEARTBEAT
REQUEST = HeartbeatRequest


def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=context.broker.coordinators.groups.heartbeat(request))


def error_response(_context: RequestContext, _request: HeartbeatRequest, error: ApiError) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error.code)
