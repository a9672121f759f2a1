"""DescribeCluster: the cluster's id and its brokers.

Versions: 1 can ask for controllers instead (KIP-919), which a broker's listener refuses; 2 can include fenced brokers.
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
    """Every broker that can be reached through the client's listener."""
    if request.endpoint_type == CONTROLLERS:
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "This is a listener of brokers; ask a listener of controllers"
        )
    if request.endpoint_type != BROKERS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Endpoint type {request.endpoint_type} is unknown; 1 means brokers"
        )
    brokers = [
        DescribeClusterBroker(
            broker_id=broker.id,
            host=endpoint.host,
            port=endpoint.port,
            rack=broker.rack,
            is_fenced=broker.is_fenced,
        )
        for broker in context.broker.image.brokers
        if (request.include_fenced_brokers or not broker.is_fenced)
        and (endpoint := broker.endpoint(context.listener)) is not None
    ]
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        operations = as_bits(CLUSTER_OPERATIONS)
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=context.broker.cluster_id,
        controller_id=brokers[0].broker_id if brokers else -1,
        brokers=brokers,
        cluster_authorized_operations=operations,
    )


def error_response(
    context: RequestContext, request: DescribeClusterRequest, error: ApiError
) -> DescribeClusterResponse:
    """No brokers."""
    del context
    return DescribeClusterResponse(
        error_code=error.code, error_message=error.message, endpoint_type=request.endpoint_type
    )
