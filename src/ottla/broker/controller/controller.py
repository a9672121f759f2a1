"""The controller as a broker sees it: a request message goes in, a response message comes out.

It makes no difference to the caller whether the controller runs in this process or on another node. A request names its
origin, because the controller decides on behalf of a client that it does not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ottla.broker.quorum.image_publisher import ImageReader
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.protocol.schema import Message


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

    @staticmethod
    def of(request: Message) -> OwnRequest:
        """Uses the newest stable version, which knows every field."""
        return OwnRequest(request.VERSIONS.stop - (2 if request.LATEST_VERSION_UNSTABLE else 1))


class Controller(Protocol):
    """Decides about the metadata."""

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """The response, once the decision is committed; ApiError for a refusal of the whole request."""


class FollowingController:
    """The controller as a broker's handlers ask it: answers when the broker's own image has reached the change.

    So a client that has created a topic finds it at once on the broker that it asked.
    """

    def __init__(self, controller: Controller, log: MetadataLog, reader: ImageReader) -> None:
        self._controller = controller
        self._log = log
        self._reader = reader

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """As `Controller.handle`. The reader itself must not await it: it would wait for its own end."""
        response = await self._controller.handle(origin, request)
        await self._reader.until(self._log.committed_offset)
        return response
