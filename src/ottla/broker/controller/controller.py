"""What a broker knows of the controller: a request message goes in, a response message comes out.

Whether the controller is in this process or on another node makes no difference to whoever asks. A request carries
whom it is for, because the controller decides on behalf of a client that it does not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ottla.protocol.schema import Message


class RequestOrigin(Protocol):
    """On whose behalf the controller is asked; a handler's `RequestContext` is one."""

    @property
    def api_version(self) -> int: ...

    @property
    def principal(self) -> str: ...

    @property
    def client_host(self) -> str: ...


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """A broker asks for itself."""

    api_version: int
    principal: str = "User:ANONYMOUS"
    client_host: str = ""

    @staticmethod
    def of(request: Message) -> OwnRequest:
        """In the newest stable version, which knows every field."""
        return OwnRequest(request.VERSIONS.stop - (2 if request.LATEST_VERSION_UNSTABLE else 1))


class Controller(Protocol):
    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """The response, once what was decided is committed; ApiError for a refusal of the whole request."""
