"""The active controller for a broker, wherever it runs: in this process, or on another node.

Guarantees
- A request goes to the leader of the metadata quorum. While the role of this node is active, it answers by itself.
- When the one that was asked is not the active controller any more, or its connection breaks, the next one is looked
  for and asked again, until the time of the request is over. So a request may take effect twice, as one that a client
  repeats does; each is made so that this does no harm. When raft reports another leader, the request to the former one
  is given up at once, however long that one is silent.
- Heartbeats wait for nothing else. A controller answers the requests of one connection in their order, so each kind of
  request of the broker itself has a connection of its own, and those of clients share one.

Requests of the broker go out as they are, in the newest version that both sides know; those of clients in an Envelope,
in the version in which they came (KIP-590). If the controller does not know that version, the client's connection ends,
so that it asks again which versions there are. Nothing here survives a crash.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Final

from ottla.broker.controller.controller import OwnRequest, RequestOrigin
from ottla.broker.controller.role import ControllerRole
from ottla.broker.lane import Lane
from ottla.broker.peers import CLIENT_ID_PREFIX
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.broker.requests.request_context import CloseConnection
from ottla.client.addresses import Address
from ottla.client.connection import close_all
from ottla.client.errors import ClientError, NotKafka, UnsupportedByBroker, code_of
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.envelope import FORWARDABLE, open_response, seal
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.envelope_response import EnvelopeResponse
from ottla.protocol.response_errors import error_codes
from ottla.protocol.response_types import response_type
from ottla.protocol.schema import Message

logger = logging.getLogger("ottla.broker.controller")

# How long clients' requests wait for a controller, unless they say so themselves: as Kafka's brokers have it.
FORWARDING_TIMEOUT_S: Final = 60.0
_RETRY_BACKOFF_S: Final = 0.05
_FORWARDING: Final = "forwarding"
# Registration and heartbeats tell one story, in its order.
_LANES: Final[Mapping[int, str]] = {
    ApiKey.BROKER_REGISTRATION: "heartbeats",
    ApiKey.BROKER_HEARTBEAT: "heartbeats",
    ApiKey.ALTER_PARTITION: "in-sync replicas",
    ApiKey.ALLOCATE_PRODUCER_IDS: "producer ids",
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: "directories",
    ApiKey.CONTROLLER_REGISTRATION: "registration",
}


class _NotActive(Exception):
    """Whoever was asked cannot decide; the message says why."""


class ActiveControllerFinder:
    def __init__(
        self, log: MetadataLog, role: ControllerRole | None, *, node_id: int, retry_backoff_s: float = _RETRY_BACKOFF_S
    ) -> None:
        """`role` is that of this node, None if it has none."""
        self._log = log
        self._role = role
        self._node_id = node_id
        self._retry_backoff_s = retry_backoff_s
        self._client_id = f"{CLIENT_ID_PREFIX}{node_id}"
        self._lanes: dict[str, Lane] = {}
        self._is_closed = False

    @property
    def versions(self) -> Mapping[int, tuple[int, int]] | None:
        """The versions of each API that the controller serves for clients; None while nobody on another node is
        asked."""
        if self._role is not None and self._role.is_active:
            return None
        lane = self._lanes.get(_FORWARDING)
        return None if lane is None or lane.connection is None else lane.connection.versions.ranges

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """As `Controller.handle`; REQUEST_TIMED_OUT if no active controller answered in time."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + _timeout_s(origin, request)
        reason = "nobody was asked"
        while not self._is_closed:
            changed = self._log.leader_change
            try:
                return await self._attempt(origin, request, deadline_s)
            except _NotActive as refusal:
                reason = str(refusal)
            remaining_s = deadline_s - loop.time()
            if remaining_s <= 0:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(self._retry_backoff_s, remaining_s)):
                    await changed.wait()
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"No active controller has answered: {reason}")

    async def close(self) -> None:
        """Ends every connection; requests that wait fail."""
        self._is_closed = True
        lanes = list(self._lanes.values())
        for lane in lanes:
            lane.end("this node is shutting down")
        await close_all([lane.connection for lane in lanes if lane.connection is not None])

    async def _attempt(self, origin: RequestOrigin, request: Message, deadline_s: float) -> Message:
        if self._role is not None and self._role.is_active:
            try:
                return await self._role.handle(origin, request)
            except ApiError as error:
                if error.code is not ErrorCode.NOT_CONTROLLER:
                    raise
                raise _NotActive(error.message) from None
        leader_id, address = self._log.leader_id, self._log.leader_address
        if leader_id is None:
            raise _NotActive("the metadata quorum has no leader")
        if leader_id == self._node_id:
            raise _NotActive("this node is about to become the active controller")
        if address is None:
            raise _NotActive(f"nobody has told the address of controller {leader_id}")
        try:
            return await self._ask(leader_id, address, origin, request, deadline_s)
        except UnsupportedByBroker as error:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from None
        except ClientError as error:
            raise _NotActive(f"controller {leader_id}: {error}") from None

    async def _ask(
        self, leader_id: int, address: Address, origin: RequestOrigin, request: Message, deadline_s: float
    ) -> Message:
        is_own = isinstance(origin, OwnRequest)
        name = _LANES.get(request.API_KEY, _FORWARDING) if is_own else _FORWARDING
        if (lane := self._lanes.get(name)) is None:
            lane = self._lanes[name] = Lane(f"{self._client_id}-{name.replace(' ', '-')}")
        asking = asyncio.ensure_future(
            self._send(lane, address, request, deadline_s)
            if is_own
            else self._forward(lane, address, origin, request, deadline_s)
        )
        try:
            async with asyncio.timeout_at(deadline_s):
                while not asking.done():
                    changed = asyncio.ensure_future(self._log.leader_change.wait())
                    try:
                        await asyncio.wait((asking, changed), return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        changed.cancel()
                    if not asking.done() and self._log.leader_id not in (None, leader_id):
                        lane.drop(f"node {leader_id} does not lead any more")
                        raise _NotActive(f"node {self._log.leader_id} leads instead of {leader_id}")
            return asking.result()
        except TimeoutError:
            raise _NotActive(f"controller {leader_id} at {address} has not answered in time") from None
        finally:
            asking.cancel()

    async def _send(self, lane: Lane, address: Address, request: Message, deadline_s: float) -> Message:
        connection = await lane.connected(address, _remaining_s(deadline_s))
        timeout_ms = self._patience_s(lane, deadline_s) * 1000
        response = await connection.request(request, response_type(type(request)), timeout_ms=timeout_ms)
        if ErrorCode.NOT_CONTROLLER in error_codes(response):
            raise _NotActive(f"{address} is not the active controller")
        if error_code := getattr(response, "error_code", ErrorCode.NONE):
            raise ApiError(code_of(error_code), getattr(response, "error_message", None) or "")
        return response

    async def _forward(
        self, lane: Lane, address: Address, origin: RequestOrigin, request: Message, deadline_s: float
    ) -> Message:
        connection = await lane.connected(address, _remaining_s(deadline_s))
        version = origin.api_version
        served = connection.versions.ranges.get(request.API_KEY)
        if request.API_KEY not in FORWARDABLE or served is None or not served[0] <= version <= served[1]:
            raise CloseConnection(f"the controller does not serve {type(request).__name__} v{version}")
        envelope = seal(
            request,
            version,
            principal=origin.principal,
            client_host=origin.client_host,
            client_id=self._client_id,
        )
        timeout_ms = self._patience_s(lane, deadline_s) * 1000
        answer = await connection.request(envelope, EnvelopeResponse, timeout_ms=timeout_ms)
        if answer.error_code == ErrorCode.NOT_CONTROLLER:
            raise _NotActive(f"{address} is not the active controller")
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            raise CloseConnection(f"the controller does not serve {type(request).__name__} v{version}")
        if answer.error_code != ErrorCode.NONE:
            code = code_of(answer.error_code)
            logger.error("Controller at %s refuses a forwarded %s: %s", address, type(request).__name__, code.name)
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"The controller refused to handle the request: {code.name}")
        try:
            return open_response(answer, request, version, response_type(type(request)))
        except MalformedMessage as error:
            raise NotKafka(f"{address} answered something that cannot be read: {error}") from None

    def _patience_s(self, lane: Lane, deadline_s: float) -> float:
        """How long the controller may be silent before the connection ends. A client that is in a hurry must not end
        it for the others."""
        is_shared = lane is self._lanes.get(_FORWARDING)
        return max(_remaining_s(deadline_s), FORWARDING_TIMEOUT_S if is_shared else 0.0)


def _remaining_s(deadline_s: float) -> float:
    return max(deadline_s - asyncio.get_running_loop().time(), 0.0)


def _timeout_s(origin: RequestOrigin, request: Message) -> float:
    if isinstance(origin, OwnRequest) and origin.timeout_s is not None:
        return origin.timeout_s
    timeout_ms: int | None = getattr(request, "timeout_ms", None)
    if timeout_ms is None or timeout_ms <= 0:
        return FORWARDING_TIMEOUT_S
    return min(timeout_ms / 1000, FORWARDING_TIMEOUT_S)
