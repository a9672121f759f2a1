"""What a handler knows about the request beside its body."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.broker.requests.time_slice import TimeSlice

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection
    from ottla.broker.services import Services


class CloseConnection(Exception):
    """Raised by a handler whose only possible answer is to close the connection."""


@dataclass(slots=True)
class RequestContext:
    """Who asks, through which door, in which version, and the broker that answers.

    Not frozen only because every request makes one, and a frozen dataclass takes twice as long to make.
    """

    api_key: int
    api_version: int
    client_id: str | None
    client_host: str
    listener: str
    principal: str
    broker: Services
    correlation_id: int = 0
    # None for a request that came inside another one, or from this node itself.
    connection: Connection | None = None
    # It took more than a slice of time to answer, so its answer is written beside the loop.
    is_large: bool = False
    _deadline: float | None = None

    def deadline(self, timeout_ms: int) -> float:
        """When the client wants to know, on the loop's clock: once for all the pieces of a request."""
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + max(timeout_ms, 0) / 1000
        return self._deadline

    def time_slice(self) -> TimeSlice:
        """For a handler that may have much to do: it pauses now and then, so that others are served."""
        return TimeSlice(self.broker.host.monotonic_s, on_pause=self._took_long)

    def _took_long(self) -> None:
        self.is_large = True
