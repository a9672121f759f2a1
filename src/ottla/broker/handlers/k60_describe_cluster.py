"""DescribeCluster: the cluster's id and its brokers.

Versions: 1 can ask for controllers instead (KIP-919), which a broker's listener refuses; 2 can include fenced brokers.
As in Metadata, the answer is for the client's listener, and the controller is a random broker.
"""

from ottla.broker.handlers.k03_metadata import any_id
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
_NAMES = {BROKERS: "brokers", CONTROLLERS: "controllers"}


def handle(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Every broker that can be reached through the client's listener."""
    check_endpoint_type(request, BROKERS)
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
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=context.broker.cluster_id,
        controller_id=any_id(context, [broker.broker_id for broker in brokers if not broker.is_fenced]),
        brokers=brokers,
        cluster_authorized_operations=authorized_operations(request),
    )


def check_endpoint_type(request: DescribeClusterRequest, served: int) -> None:
    """Refuses a client that asks a listener for what the other kind of listener tells."""
    if request.endpoint_type == served:
        return
    if request.endpoint_type in _NAMES:
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            f"This is a listener of {_NAMES[served]}; ask a listener of {_NAMES[request.endpoint_type]}",
        )
    raise ApiError(
        ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        f"Endpoint type {request.endpoint_type} is unknown; {served} means {_NAMES[served]}",
    )


def authorized_operations(request: DescribeClusterRequest) -> int:
    """What the client may do with the cluster, if it wants to know."""
    return as_bits(CLUSTER_OPERATIONS) if request.include_cluster_authorized_operations else NOT_REQUESTED


def error_response(
    context: RequestContext, request: DescribeClusterRequest, error: ApiError
) -> DescribeClusterResponse:
    """No brokers, and no controllers."""
    del context
    return DescribeClusterResponse(
        error_code=error.code, error_message=error.message, endpoint_type=request.endpoint_type
    )
