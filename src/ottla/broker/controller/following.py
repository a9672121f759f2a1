"""The controller as a broker's handlers ask it: they answer when the broker's own image has reached the change.

So a client that has created a topic finds it at once on the broker that it asked.
"""

from __future__ import annotations

from ottla.broker.controller.controller import Controller, RequestOrigin
from ottla.broker.quorum.image_publisher import ImageReader
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.protocol.schema import Message


class FollowingController:
    def __init__(self, controller: Controller, log: MetadataLog, reader: ImageReader) -> None:
        self._controller = controller
        self._log = log
        self._reader = reader

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """As `Controller.handle`. Must not be awaited by the reader itself, which would wait for its own end."""
        response = await self._controller.handle(origin, request)
        await self._reader.until(self._log.committed_offset)
        return response
