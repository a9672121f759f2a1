"""How transactions reach brokers: the two requests that coordinators and partition leaders send each other.

A request to this broker itself goes to its own handler, as a message and without a socket, with the same answer. One to
another broker goes over the connections between brokers, and fails with PeerUnavailable if that broker does not answer.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Final, cast

from ottla.broker.peers import MARKERS, TRANSACTIONS, Peers, Purpose
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
# A broker that could not write in time says so after request.timeout.ms; its answer is worth waiting for.
_ANSWER_MARGIN_S: Final = 5.0


class TransactionChannel:
    """Carries requests to the broker that they are for."""

    def __init__(
        self, node_id: int, listener: str, dispatcher: Dispatcher, peers: Peers, request_timeout_ms: int
    ) -> None:
        self._node_id = node_id
        self._listener = listener
        self._dispatcher = dispatcher
        self._peers = peers
        self._timeout_s = request_timeout_ms / 1000 + _ANSWER_MARGIN_S

    async def add_partitions(self, broker_id: int, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        """Asks the coordinator of the transactions."""
        answer = await self._send(broker_id, TRANSACTIONS, ADD_PARTITIONS_VERSION, request)
        return cast(AddPartitionsToTxnResponse, answer)

    async def write_markers(self, broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        """Asks the leader of the partitions."""
        answer = await self._send(broker_id, MARKERS, WRITE_MARKERS_VERSION, request)
        return cast(WriteTxnMarkersResponse, answer)

    async def _send(self, broker_id: int, purpose: Purpose, own_version: int, request: Message) -> Message:
        if broker_id == self._node_id:
            return await self._handle_here(ApiKey(request.API_KEY), own_version, request)
        return await self._peers.send(broker_id, purpose, request, timeout_s=self._timeout_s)

    async def _handle_here(self, api_key: ApiKey, version: int, request: Message) -> Message:
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
