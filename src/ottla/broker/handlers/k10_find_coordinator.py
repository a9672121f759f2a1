"""FindCoordinator (10): which broker coordinates a group, a transaction or a share partition.

Versions: 1 adds the key type and an error message; 3 is flexible; 4 asks for several keys at once (KIP-699); 5 lets the
answer be TRANSACTION_ABORTABLE; 6 knows share groups.

The first request for a key of a kind creates the topic of that coordinator, and the answer waits for it. Share
coordinators do not exist: INVALID_REQUEST, as from a broker with share.version 0. COORDINATOR_NOT_AVAILABLE answers a
key whose broker has no address on the client's listener, and a key whose state cannot be read because its disk failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse

if TYPE_CHECKING:
    from ottla.broker.coordinators.groups.coordinator import GroupCoordinator
    from ottla.broker.coordinators.transactions.coordinator import TransactionCoordinator

API_KEY = ApiKey.FIND_COORDINATOR
REQUEST = FindCoordinatorRequest

_BATCHES_FROM = 4
_GROUP = 0
_TRANSACTION = 1
_NO_NODE = -1
_NO_PORT = -1
# The message that Kafka writes into a successful answer of versions 1-3.
_OLD_SUCCESS_MESSAGE = "NONE"


async def handle(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.api_version >= _BATCHES_FROM:
        return FindCoordinatorResponse(
            coordinators=[await _find(context, request.key_type, key) for key in request.coordinator_keys]
        )
    return _single(await _find(context, request.key_type, request.key))


def error_response(
    context: RequestContext, request: FindCoordinatorRequest, error: ApiError
) -> FindCoordinatorResponse:
    if context.api_version >= _BATCHES_FROM:
        return FindCoordinatorResponse(coordinators=[_failed(key, error) for key in request.coordinator_keys])
    return _single(_failed(request.key, error))


async def _find(context: RequestContext, key_type: int, key: str) -> Coordinator:
    broker = context.broker
    try:
        if key_type == _GROUP:
            coordinator: GroupCoordinator | TransactionCoordinator = broker.coordinators.groups
        elif key_type == _TRANSACTION:
            coordinator = broker.coordinators.transactions
        else:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"coordinators of type {key_type} are not served")
        node_id = await coordinator.topic.leader_of(key)
        if node_id == broker.config.node_id:
            coordinator.shards.require_led(coordinator.topic.partition_of(key))
        node = broker.image.brokers.get(node_id)
        endpoint = None if node is None or node.is_fenced else node.endpoint(context.listener)
        if endpoint is None:
            raise ApiError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                f"node {node_id}, which coordinates {key!r}, is not reachable on listener {context.listener}",
            )
    except ApiError as error:
        return _failed(key, error)
    return Coordinator(key=key, node_id=node_id, host=endpoint.host, port=endpoint.port, error_message="")


def _failed(key: str, error: ApiError) -> Coordinator:
    return Coordinator(key=key, node_id=_NO_NODE, port=_NO_PORT, error_code=error.code, error_message=error.message)


def _single(found: Coordinator) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or _OLD_SUCCESS_MESSAGE,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )
