"""The controller as a broker sees it: a request message goes in, a response message comes out.

It makes no difference to the caller whether the controller runs in this process or on another node. A request names its
origin, because the controller decides on behalf of a client that it does not see.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Final, Protocol

from ottla.broker.controller.visibility import is_visible
from ottla.broker.quorum.image_publisher import ImageReader
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.protocol.schema import Message

# A change that is committed reaches a broker that works within milliseconds.
FOLLOW_TIMEOUT_S: Final = 5.0


class RequestOrigin(Protocol):
    """The client on whose behalf the controller decides; a handler's `RequestContext` is one."""

    @property
    def api_version(self) -> int: ...

    @property
    def principal(self) -> str: ...

    @property
    def client_host(self) -> str: ...


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """A request that the broker makes for itself."""

    api_version: int
    principal: str = "User:ANONYMOUS"
    client_host: str = ""
    # How long the broker waits for an active controller that answers; None for as long as clients' requests wait.
    timeout_s: float | None = None

    @staticmethod
    def of(request: Message, timeout_s: float | None = None) -> OwnRequest:
        """Uses the newest stable version, which knows every field."""
        newest = request.VERSIONS.stop - (2 if request.LATEST_VERSION_UNSTABLE else 1)
        return OwnRequest(newest, timeout_s=timeout_s)


class Controller(Protocol):
    """Decides about the metadata."""

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """The response, once the decision is committed; ApiError for a refusal of the whole request."""


class FollowingController:
    """The controller as a broker's handlers ask it: answers when the broker's own image has reached the change.

    So a client that has created a topic finds it at once on the broker that it asked. If the controller is on another
    node, the answer does not say where in the log the change is: then the broker follows its copy of the log to the end
    that it has, which most often includes the change, and waits for topics until it sees them. A broker that lags
    behind answers all the same, when FOLLOW_TIMEOUT_S is over.
    """

    def __init__(self, controller: Controller, log: MetadataLog, reader: ImageReader) -> None:
        self._controller = controller
        self._log = log
        self._reader = reader

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """As `Controller.handle`. The reader itself must not await it: it would wait for its own end."""
        response = await self._controller.handle(origin, request)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FOLLOW_TIMEOUT_S):
                if self._log.leader_epoch is not None:
                    await self._reader.until(self._log.committed_offset)
                    return response
                await self._reader.until(self._log.end_offset)
                while not is_visible(self._reader.image, request, response):
                    await self._reader.until(self._reader.image.end_offset + 1)
        return response
