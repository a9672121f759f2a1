"""What a broker tells the controller: it registers, sends heartbeats, and asks to shut down (KIP-631).

    register   gets an epoch for this life of the process; a heartbeat that it has caught up then lets it lead
    leave      controlled shutdown: heartbeats that ask for it, until the controller has moved the leaderships away

Every request that a broker makes for itself carries the epoch, so that requests of an earlier life are refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.quorum.image_publisher import ImageReader
from ottla.metadata.controller.features import SUPPORTED
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse

logger = logging.getLogger("ottla.broker.lifecycle")

# How long a broker waits for the controller's consent. Whoever stops it will not wait for ever.
LEAVE_TIMEOUT_S = 30.0
# The first answer comes before any leadership has moved. Kafka's brokers ask again after the same pause.
_FIRST_REPEAT_S = 0.05
_REPEAT_S = 0.5


class BrokerRefused(Exception):
    """The controller refuses this broker; the message says why."""


class BrokerLifecycle:
    def __init__(self, broker_id: int, cluster_id: str, controller: Controller, metadata: ImageReader) -> None:
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._controller = controller
        self._metadata = metadata
        self.broker_epoch = -1

    async def register(
        self, *, incarnation_id: bytes, listeners: Sequence[Listener], log_dirs: Sequence[bytes], rack: str | None
    ) -> None:
        """Registers this broker, and reports that it has caught up; BrokerRefused if the controller refuses it."""
        request = BrokerRegistrationRequest(
            broker_id=self._broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=incarnation_id,
            listeners=listeners,
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in sorted(SUPPORTED.items())
            ],
            log_dirs=log_dirs,
            rack=rack,
        )
        try:
            registered = await self._controller.handle(OwnRequest.of(request), request)
            assert isinstance(registered, BrokerRegistrationResponse)
            self.broker_epoch = registered.broker_epoch
            await self._heartbeat(wants_shutdown=False)
        except ApiError as error:
            raise BrokerRefused(f"The controller refused this broker: {error.message}") from error

    async def leave(self, is_lost: asyncio.Future[Exception]) -> None:
        """Controlled shutdown. Returns when the controller consents, or when there is no point in waiting for that:
        after LEAVE_TIMEOUT_S, when `is_lost` reports that the metadata log failed, or when the controller refuses, as
        with a full disk."""
        asking = asyncio.create_task(self._ask_to_leave(), name="controlled shutdown")
        await asyncio.wait((asking, is_lost), timeout=LEAVE_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            logger.warning("The controller did not finish the controlled shutdown in time; the broker stops without it")
        elif (error := asking.exception()) is not None:
            logger.warning("The controller refused the controlled shutdown; the broker stops without it: %s", error)

    async def _ask_to_leave(self) -> None:
        pause_s = _FIRST_REPEAT_S
        while True:
            try:
                if (await self._heartbeat(wants_shutdown=True)).should_shut_down:
                    return
            except ApiError as error:
                if error.code is not ErrorCode.NOT_CONTROLLER:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = _REPEAT_S

    async def allocate_producer_ids(self) -> range:
        """A block of producer ids that no other broker has."""
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self.broker_epoch)
        block = await self._controller.handle(OwnRequest.of(request), request)
        assert isinstance(block, AllocateProducerIdsResponse)
        if block.error_code:
            raise ApiError(ErrorCode(block.error_code))
        return range(block.producer_id_start, block.producer_id_start + block.producer_id_len)

    async def _heartbeat(self, *, wants_shutdown: bool) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata.image.end_offset - 1,
            want_shut_down=wants_shutdown,
        )
        response = await self._controller.handle(OwnRequest.of(request), request)
        assert isinstance(response, BrokerHeartbeatResponse)
        return response
