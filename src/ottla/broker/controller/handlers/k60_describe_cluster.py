"""DescribeCluster on a listener of controllers: the cluster's id and its controllers (KIP-919).

Versions: 1 says whether brokers or controllers are wanted; here it must be controllers.
"""

from ottla.broker.handlers.k60_describe_cluster import (
    CONTROLLERS,
    authorized_operations,
    check_endpoint_type,
    error_response,
)
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_cluster_request import DescribeClusterRequest
from ottla.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse

__all__ = ["API_KEY", "REQUEST", "error_response", "handle"]

API_KEY = ApiKey.DESCRIBE_CLUSTER
REQUEST = DescribeClusterRequest


def handle(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Every voter that can be reached through a listener of this name."""
    check_endpoint_type(request, CONTROLLERS)
    quorum = context.broker.metadata.log.describe()
    controllers = [
        DescribeClusterBroker(broker_id=voter_id, host=endpoint.host, port=endpoint.port)
        for voter_id, endpoints in sorted(quorum.voter_endpoints.items())
        for endpoint in endpoints
        if endpoint.name == context.listener
    ]
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=context.broker.cluster_id,
        controller_id=quorum.leader_id,
        brokers=controllers,
        cluster_authorized_operations=authorized_operations(request),
    )
