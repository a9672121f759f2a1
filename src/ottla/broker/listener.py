"""A socket that takes connections, and the connections it took."""

import asyncio
import contextlib
import errno
import logging
from dataclasses import replace

from ottla.broker.connection import Connection
from ottla.broker.dispatch import Dispatcher
from ottla.config.listeners import Listener as ListenerConfig

logger = logging.getLogger("ottla.broker.listener")

# How long requests in progress may take to be answered once the node stops; long polls are cut off.
DRAIN_SECONDS = 1.0
_BACKLOG = 511


class ListenFailed(Exception):
    """The address cannot be listened on; the message says why and what to do."""


class Listener:
    """One entry of `listeners`, at work."""

    def __init__(self, config: ListenerConfig, dispatcher: Dispatcher, request_bytes_max: int) -> None:
        self.config = config
        self._dispatcher = dispatcher
        self._request_bytes_max = request_bytes_max
        self._connections: set[Connection] = set()
        self._all_closed = asyncio.Event()
        self._server: asyncio.Server | None = None
        self.port = config.port

    @property
    def connections(self) -> frozenset[Connection]:
        """The connections that are open now."""
        return frozenset(self._connections)

    async def start(self) -> None:
        """Listens; port 0 becomes the port that the system chose."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                self._accept, self.config.host or None, self.config.port, backlog=_BACKLOG, start_serving=False
            )
        except OSError as error:
            raise ListenFailed(_explained(self.config, error)) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def serve(self) -> None:
        """Takes connections from now on."""
        assert self._server is not None
        await self._server.start_serving()
        logger.info("Listening on %s", replace(self.config, port=self.port))

    async def stop(self) -> None:
        """Takes no more connections, lets requests in progress be answered, and closes."""
        if self._server is not None:
            self._server.close()
        for connection in tuple(self._connections):
            connection.close_when_idle()
        if self._connections:
            self._all_closed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), DRAIN_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()

    def _accept(self) -> Connection:
        return Connection(
            self._dispatcher,
            self.config.name,
            self._request_bytes_max,
            on_open=self._connections.add,
            on_close=self._closed,
        )


def _explained(config: ListenerConfig, error: OSError) -> str:
    address = f"{config.host or '*'}:{config.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {config.port} on {config.host or 'all interfaces'} is in use by another process. "
            "Stop that process, or choose another address with --listen HOST:PORT or the listeners setting."
        )
    if error.errno == errno.EACCES:
        return f"{address} needs privileges that this process does not have. Choose a port above 1023."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{address} is not an address of this machine. Correct the listeners setting."
    return f"Cannot listen on {address}: {error.strerror or error}. Correct the listeners setting."
