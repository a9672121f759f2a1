"""LeaveGroup (13): members go, or are sent away.

Versions: 0-2 name one member, whose error is the response's; 1 throttles; 3 names several, by member id or by
`group.instance.id`, each with a row of its own; 4 is flexible; 5 carries the reason.
"""

from collections.abc import Awaitable

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse

API_KEY = ApiKey.LEAVE_GROUP
REQUEST = LeaveGroupRequest

_MEMBERS_FROM = 3


def handle(context: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
    is_batch = context.api_version >= _MEMBERS_FROM
    leaving = request.members if is_batch else (MemberIdentity(member_id=request.member_id),)
    result = context.broker.coordinators.groups.leave(request.group_id, leaving)
    if isinstance(result, list):
        return _response(result, is_batch)
    return _respond_later(result, is_batch)


def error_response(_context: RequestContext, _request: LeaveGroupRequest, error: ApiError) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)


async def _respond_later(rows: Awaitable[list[MemberResponse]], is_batch: bool) -> LeaveGroupResponse:
    return _response(await rows, is_batch)


def _response(rows: list[MemberResponse], is_batch: bool) -> LeaveGroupResponse:
    return LeaveGroupResponse(members=rows) if is_batch else LeaveGroupResponse(error_code=rows[0].error_code)
