"""DescribeGroups (15): state, protocol and members of groups.

Versions: 1 throttles; 3 can include the operations that the caller may perform; 4 shows `group.instance.id`; 5 is
flexible; 6 answers GROUP_ID_NOT_FOUND where earlier versions show a group that is Dead (KIP-1043).
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.describe_groups_request import DescribeGroupsRequest
from ottla.protocol.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from ottla.security.operations import GROUP_OPERATIONS, as_bits

API_KEY = ApiKey.DESCRIBE_GROUPS
REQUEST = DescribeGroupsRequest


def handle(context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    groups = context.broker.coordinators.groups.describe_groups(request.groups, context.api_version)
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = as_bits(GROUP_OPERATIONS)
    return DescribeGroupsResponse(groups=groups)


def error_response(_context: RequestContext, request: DescribeGroupsRequest, error: ApiError) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribedGroup(group_id=group_id, error_code=error.code) for group_id in request.groups]
    )
