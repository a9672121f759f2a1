"""A controller registers: where it listens, and which features it knows (KIP-919).

Tools find the controllers by their registrations, and a feature is raised only to a level that all of them know. A
controller registers once in each life, as soon as it has followed the metadata of a cluster that knows such records,
and again if its registration is not in the metadata any more. Nothing else depends on it: until it succeeds, it is
tried again and again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.metadata.controller.controllers import OLDEST_METADATA_VERSION, registered_controllers
from ottla.metadata.controller.features import SUPPORTED
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.controller_registration_request import ControllerRegistrationRequest, Feature, Listener

logger = logging.getLogger("ottla.broker.controller")

_RETRY_S: Final = 0.5
_TIMEOUT_S: Final = 30.0


class ControllerRegistration:
    """Of one life of a controller."""

    def __init__(
        self, controller: Controller, *, node_id: int, incarnation_id: bytes, listeners: Sequence[Listener]
    ) -> None:
        """`controller` is the active one, wherever it runs."""
        self._controller = controller
        self._request = ControllerRegistrationRequest(
            controller_id=node_id,
            incarnation_id=incarnation_id,
            listeners=listeners,
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in sorted(SUPPORTED.items())
            ],
        )
        self._image = ClusterImage()
        # The active controller has accepted it; the image may not have it yet.
        self._is_accepted = False
        self._has_changed = asyncio.Event()

    def image_changed(self, image: ClusterImage) -> None:
        self._image = image
        self._has_changed.set()

    async def keep_registered(self) -> None:
        """Runs as long as the controller does."""
        while True:
            await self._has_changed.wait()
            self._has_changed.clear()
            while self._is_due():
                try:
                    await self._controller.handle(OwnRequest.of(self._request, _TIMEOUT_S), self._request)
                    self._is_accepted = True
                    continue
                except ApiError as error:
                    logger.info("The registration of this controller is tried again: %s", error)
                except Exception:
                    # Whatever it is, the next attempt must follow: nobody else registers this controller.
                    logger.exception("The registration of this controller failed and is tried again")
                await asyncio.sleep(_RETRY_S)

    def _is_due(self) -> bool:
        if self._image.metadata_version < OLDEST_METADATA_VERSION:
            return False
        incarnation_id = self._request.incarnation_id
        if any(known.incarnation_id == incarnation_id for known in registered_controllers(self._image)):
            self._is_accepted = False
            return False
        return not self._is_accepted
