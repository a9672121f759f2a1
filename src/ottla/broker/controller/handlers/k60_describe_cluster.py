"""DescribeCluster on a listener of controllers: the cluster's id and its controllers (KIP-919).

Versions: 1 says whether brokers or controllers are wanted; here it must be controllers.
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from ottla.security.operations import CLUSTER_OPERATIONS, NOT_REQUESTED, as_bits

API_KEY = ApiKey.DESCRIBE_CLUSTER
REQUEST = DescribeClusterRequest

BROKERS = 1
CONTROLLERS = 2


def handle(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Every voter that can be reached through a listener of this name."""
    if request.endpoint_type == BROKERS:
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "This is a listener of controllers; ask a listener of brokers"
        )
    if request.endpoint_type != CONTROLLERS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"Endpoint type {request.endpoint_type} is unknown; 2 means controllers",
        )
    quorum = context.broker.metadata.log.describe()
    controllers = [
        DescribeClusterBroker(broker_id=voter_id, host=endpoint.host, port=endpoint.port)
        for voter_id, endpoints in sorted(quorum.voter_endpoints.items())
        for endpoint in endpoints
        if endpoint.name == context.listener
    ]
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        operations = as_bits(CLUSTER_OPERATIONS)
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=context.broker.cluster_id,
        controller_id=quorum.leader_id,
        brokers=controllers,
        cluster_authorized_operations=operations,
    )


def error_response(
    context: RequestContext, request: DescribeClusterRequest, error: ApiError
) -> DescribeClusterResponse:
    """No controllers."""
    del context
    return DescribeClusterResponse(
        error_code=error.code, error_message=error.message, endpoint_type=request.endpoint_type
    )
