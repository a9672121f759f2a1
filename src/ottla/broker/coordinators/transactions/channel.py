"""How transactions reach other brokers: the two requests that coordinators and partition leaders send each other.

In a cluster of one node they go to the node's own handlers, as messages and without a socket, in the same versions and
with the same answers.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, cast

from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from ottla.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from ottla.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from ottla.protocol.schema import Message

if TYPE_CHECKING:
    from ottla.broker.requests.dispatch import Api, Dispatcher

logger = logging.getLogger(__name__)

ADD_PARTITIONS_VERSION = 5
WRITE_MARKERS_VERSION = 2
_BROKER_PRINCIPAL = "User:ANONYMOUS"


class TransactionChannel:
    """Carries requests to the node that they are for."""

    def __init__(self, node_id: int, listener: str, dispatcher: Dispatcher) -> None:
        self._node_id = node_id
        self._listener = listener
        self._dispatcher = dispatcher

    async def add_partitions(self, node_id: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        """Asks the coordinator of the transactions."""
        answer = await self._send(node_id, ApiKey.ADD_PARTITIONS_TO_TXN, ADD_PARTITIONS_VERSION, request)
        return cast(AddPartitionsToTxnResponse, answer)

    async def write_markers(self, node_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        """Asks the leader of the partitions."""
        answer = await self._send(node_id, ApiKey.WRITE_TXN_MARKERS, WRITE_MARKERS_VERSION, request)
        return cast(WriteTxnMarkersResponse, answer)

    async def _send(self, node_id: int, api_key: ApiKey, version: int, request: Message) -> Message:
        assert node_id == self._node_id, f"node {node_id} is not this one, and there is no other"
        api = self._dispatcher.apis[api_key]
        services = self._dispatcher.services
        assert services is not None, "the node is assembled before transactions are served"
        context = RequestContext(
            api_key=api_key,
            api_version=version,
            client_id=None,
            client_host="",
            listener=self._listener,
            principal=_BROKER_PRINCIPAL,
            broker=services,
        )
        try:
            answer = api.handle(context, request)
            if inspect.isawaitable(answer):
                answer = await answer
        except ApiError as error:
            return _refusal(api, context, request, error)
        except Exception:
            # As over a socket: the caller gets an error response and continues.
            logger.exception("%s failed", api_key.name)
            return _refusal(api, context, request, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
        return cast(Message, answer)


def _refusal(api: Api, context: RequestContext, request: Message, error: ApiError) -> Message:
    assert api.error_response is not None, f"API {api.key} has no error response"
    return api.error_response(context, request, error)
