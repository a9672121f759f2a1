"""BrokerHeartbeat: a broker reports that it is alive, how much metadata it has applied, and what it wants (KIP-631).

Versions: 1 adds log directories that are offline (KIP-858); 2 those that are cordoned (KIP-1066).
"""

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.schema import Message

API_KEY = ApiKey.BROKER_HEARTBEAT
REQUEST = BrokerHeartbeatRequest


async def handle(context: RequestContext, request: BrokerHeartbeatRequest) -> Message:
    response = await context.broker.metadata.controller.handle(context, request)
    dead_brokers = context.broker.metadata.dead_brokers
    if dead_brokers is not None and context.connection is not None:
        dead_brokers.heard(context.connection, request.broker_id, request.broker_epoch)
    return response


def error_response(
    context: RequestContext, request: BrokerHeartbeatRequest, error: ApiError
) -> BrokerHeartbeatResponse:
    del context, request
    return BrokerHeartbeatResponse(error_code=error.code)
