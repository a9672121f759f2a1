"""ListGroups (16): the groups that this node coordinates; clients ask every node.

Versions: 1 throttles; 3 is flexible; 4 filters by and returns the state (KIP-518); 5 the type (KIP-848). Filters ignore
case; an unknown state or type matches nothing.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.list_groups_response import ListGroupsResponse

API_KEY = ApiKey.LIST_GROUPS
REQUEST = ListGroupsRequest


async def handle(context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    groups = context.broker.coordinators.groups
    return ListGroupsResponse(
        groups=await groups.list_groups(request.states_filter, request.types_filter, context.time_slice())
    )


def error_response(_context: RequestContext, _request: ListGroupsRequest, error: ApiError) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code)
