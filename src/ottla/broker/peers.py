"""Connections from this broker to the other brokers of its cluster.

Guarantees
- A request reaches the broker that the newest image names: its address on the listener between brokers, in its present
  life. A broker that restarts keeps its id and gets another epoch, so its old connections end with the image that says
  so, and every request that waits on them fails at once.
- A request ends with its answer, or with `PeerUnavailable` no later than its timeout. Then it may or may not have taken
  effect; the caller decides whether and when to send it again. Nothing is repeated here, and nothing backs off.
- A peer answers the requests of one connection in their order, so each purpose has a connection of its own: the long
  poll of a replica fetcher holds up no marker.

A connection is opened by the first request that needs it, and anew after it broke. Requests go out in the newest
version that both sides know. A peer that stops answering is logged once, and once more when it answers again. Nothing
here survives a crash. Sockets and timers are those of the running loop, so that a simulated network serves as well.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from ottla.broker.lane import Lane
from ottla.client.addresses import Address
from ottla.client.connection import close_all
from ottla.client.errors import BrokerUnreachable, ClientClosed, ClientError, RequestTimedOut, UnsupportedByBroker
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.response_types import response_type
from ottla.protocol.schema import Message

logger = logging.getLogger("ottla.broker.peers")

# How the client ids of brokers begin, Apache's as well.
CLIENT_ID_PREFIX: Final = "broker-"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a connection is for. Several of one kind, as the replica fetchers of a broker are, have a number."""

    kind: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.kind}-{self.number}" if self.number else self.kind


MARKERS: Final = Purpose("markers")
TRANSACTIONS: Final = Purpose("transactions")


def replica_fetch(fetcher: int) -> Purpose:
    """The connection of one of the `num.replica.fetchers` fetchers."""
    return Purpose("replica-fetch", fetcher)


class PeerUnavailable(Exception):
    """A broker could not be asked, or did not answer. The cause, if there is one, tells a dead peer from a silent one:
    see `ottla.client.connection`."""

    def __init__(self, broker_id: int, reason: str) -> None:
        super().__init__(f"broker {broker_id}: {reason}")
        self.broker_id = broker_id
        self.reason = reason


class UnsupportedByPeer(PeerUnavailable):
    """The broker answers, but serves no version of this request that we know."""


@dataclass(frozen=True, slots=True)
class _Life:
    """One life of a broker, and where it listens."""

    address: Address
    epoch: int
    incarnation_id: bytes


class Peers:
    """The other brokers, by id. Call `image_changed` with each new image before anything that acts on it."""

    def __init__(self, node_id: int, listener: str) -> None:
        """`listener` is the name that `inter.broker.listener.name` gives."""
        self._node_id = node_id
        self._listener = listener
        self._image = ClusterImage()
        # Each belongs to one life of its broker.
        self._lanes: dict[tuple[int, Purpose], tuple[_Life, Lane]] = {}
        # Brokers whose last request failed; what is wrong with them was logged.
        self._failing: set[int] = set()
        self._is_closed = False

    def image_changed(self, image: ClusterImage) -> None:
        """Ends the connections to brokers that are gone, have begun another life, or listen at another address."""
        self._image = image
        for (broker_id, purpose), (life, lane) in list(self._lanes.items()):
            if life != self._life(image.brokers.get(broker_id)):
                del self._lanes[broker_id, purpose]
                lane.end("it has restarted, moved, or left the cluster")

    async def send(self, broker_id: int, purpose: Purpose, request: Message, *, timeout_s: float) -> Message:
        """The broker's answer. The timeout is for everything together: connecting, waiting for a turn, the answer."""
        try:
            answer = await self._send(broker_id, purpose, request, timeout_s)
        except UnsupportedByBroker as error:
            raise UnsupportedByPeer(broker_id, str(error)) from error
        except ClientError as error:
            failure = PeerUnavailable(broker_id, str(error))
            self._note_failure(failure)
            raise failure from error
        if broker_id in self._failing:
            self._failing.discard(broker_id)
            logger.info("Broker %d answers again", broker_id)
        return answer

    async def close(self) -> None:
        """Ends every connection; requests that wait fail, and later ones are refused."""
        self._is_closed = True
        lanes = [lane for _, lane in self._lanes.values()]
        self._lanes.clear()
        for lane in lanes:
            lane.end("this broker is shutting down")
        await close_all([lane.connection for lane in lanes if lane.connection is not None])

    async def _send(self, broker_id: int, purpose: Purpose, request: Message, timeout_s: float) -> Message:
        if self._is_closed:
            raise ClientClosed("this broker is shutting down")
        life = self._life(self._image.brokers.get(broker_id))
        if life is None:
            raise BrokerUnreachable(f"it is not registered with an address for listener {self._listener}")
        known = self._lanes.get((broker_id, purpose))
        if known is None:
            known = self._lanes[broker_id, purpose] = life, Lane(f"{CLIENT_ID_PREFIX}{self._node_id}-{purpose}")
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        try:
            async with asyncio.timeout_at(deadline_s):
                connection = await known[1].connected(life.address, timeout_s)
        except TimeoutError as error:
            raise RequestTimedOut(f"{life.address} was not connected in time") from error
        remaining_ms = max(deadline_s - loop.time(), 0.0) * 1000
        return await connection.request(request, response_type(type(request)), timeout_ms=remaining_ms)

    def _life(self, broker: BrokerImage | None) -> _Life | None:
        endpoint = None if broker is None else broker.endpoint(self._listener)
        if broker is None or endpoint is None:
            return None
        return _Life(Address(endpoint.host, endpoint.port), broker.epoch, broker.incarnation_id)

    def _note_failure(self, failure: PeerUnavailable) -> None:
        if failure.broker_id not in self._failing and not self._is_closed:
            self._failing.add(failure.broker_id)
            logger.warning("Broker %d does not answer: %s", failure.broker_id, failure.reason)
