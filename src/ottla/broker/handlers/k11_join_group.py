"""JoinGroup (11): a member enters its group's next generation. (Rules: `ottla.coordinator.group.join`.)

Versions: 1 adds a rebalance timeout apart from the session timeout; 2 throttles; 4 makes new members come twice
(MEMBER_ID_REQUIRED), so that abandoned first requests leave no ghosts; 5 adds static members; 6 is flexible; 7 returns
the protocol type (KIP-559); 8 carries the client's reason; 9 may tell a leader to skip the assignment (KIP-814).
"""

from collections.abc import Awaitable

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.join_group_request import JoinGroupRequest
from ottla.protocol.messages.join_group_response import JoinGroupResponse

API_KEY = ApiKey.JOIN_GROUP
REQUEST = JoinGroupRequest

_REBALANCE_TIMEOUT_FROM = 1
_NULLABLE_PROTOCOL_FROM = 7


def handle(context: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    if context.api_version < _REBALANCE_TIMEOUT_FROM:
        request.rebalance_timeout_ms = request.session_timeout_ms
    answer = context.broker.coordinators.groups.join(
        request, context.api_version, context.client_id or "", f"/{context.client_host}"
    )
    if answer.done():
        return _fit(answer.result(), context.api_version)
    return _respond_later(answer, context.api_version)


def error_response(context: RequestContext, request: JoinGroupRequest, error: ApiError) -> JoinGroupResponse:
    response = JoinGroupResponse(error_code=error.code, member_id=request.member_id, protocol_name=None)
    return _fit(response, context.api_version)


async def _respond_later(answer: Awaitable[JoinGroupResponse], api_version: int) -> JoinGroupResponse:
    return _fit(await answer, api_version)


def _fit(response: JoinGroupResponse, api_version: int) -> JoinGroupResponse:
    if api_version < _NULLABLE_PROTOCOL_FROM and response.protocol_name is None:
        response.protocol_name = ""
    return response
