"""DeleteGroups (42): deletes groups without members, with all their offsets.

Versions: 1 is the same as 0; 2 is flexible. A group named twice gets one row, as the response is a map.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.delete_groups_request import DeleteGroupsRequest
from ottla.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse

API_KEY = ApiKey.DELETE_GROUPS
REQUEST = DeleteGroupsRequest


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=await context.broker.coordinators.groups.delete_groups(_distinct(request)))


def error_response(_context: RequestContext, request: DeleteGroupsRequest, error: ApiError) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group_id, error_code=error.code) for group_id in _distinct(request)]
    )


def _distinct(request: DeleteGroupsRequest) -> list[str]:
    return list(dict.fromkeys(request.groups_names))
