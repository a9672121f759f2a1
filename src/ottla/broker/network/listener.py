"""Sockets that take connections, and the connections they took.

A listener stops accepting while the quotas say so, and while the process has no file descriptors left. It goes on when
a connection has ended or some time has passed; until then, whoever connects waits in the kernel's queue.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable
from dataclasses import replace

from ottla.broker.host import Host
from ottla.broker.network.connection import Connection
from ottla.broker.network.connection_quotas import ConnectionQuotas
from ottla.broker.network.listening_socket import listen
from ottla.broker.requests.dispatch import Dispatcher
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.config.listeners import Listener as ListenerConfig

logger = logging.getLogger("ottla.broker.network.listener")

# How long requests in progress may take to be answered once the node stops; long polls are cut off.
DRAIN_SECONDS = 1.0
# A storm of connections takes turns with the requests of those that are here.
ACCEPTS_PER_TURN = 64
# After accepting failed, mostly for want of file descriptors: one that is closed elsewhere tells nobody.
RETRY_SECONDS = 1.0


class ListenFailed(Exception):
    """The address cannot be listened on; the message says why and what to do."""


class Listener:
    """One entry of `listeners`, at work."""

    def __init__(
        self,
        config: ListenerConfig,
        settings: BrokerConfig,
        dispatcher: Dispatcher,
        quotas: ConnectionQuotas,
        tasks: Tasks,
        host: Host,
        on_change: Callable[[], None],
    ) -> None:
        """`on_change` is called after each connection that was taken or has ended."""
        self.config = config
        self._settings = settings
        self._dispatcher = dispatcher
        self._quotas = quotas
        self._tasks = tasks
        self._host = host
        self._on_change = on_change
        self._request_bytes_max = settings.get_int("socket.request.max.bytes")
        # In the order of their coming.
        self._connections: dict[Connection, None] = {}
        self._all_closed = asyncio.Event()
        self._sockets: list[socket.socket] = []
        self._is_serving = False
        self._is_accepting = False
        self._retry: asyncio.TimerHandle | None = None
        self.port = config.port

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The connections that are open now."""
        return tuple(self._connections)

    async def start(self) -> None:
        """Takes the address; port 0 becomes the port that the system chose."""
        try:
            self._sockets = await self._host.bind(self.config.host, self.config.port)
        except OSError as error:
            raise ListenFailed(_explain(self.config, error)) from None
        except UnicodeError:
            raise ListenFailed(f"{self.config.host!r} is no host name. Correct the listeners setting.") from None
        self.port = self._sockets[0].getsockname()[1]
        self._quotas.add_listener(self.config.name)

    def serve(self) -> None:
        """Takes connections from now on."""
        try:
            for bound in self._sockets:
                listen(bound, self._settings)
        except OSError as error:
            raise ListenFailed(_explain(self.config, error)) from None
        self._is_serving = True
        self.resume()
        logger.info("Listening on %s", replace(self.config, port=self.port))

    async def stop(self) -> None:
        """Takes no more connections, lets requests in progress be answered, and closes."""
        self._is_serving = False
        self._pause()
        for bound in self._sockets:
            bound.close()
        self._sockets = []
        for connection in tuple(self._connections):
            connection.close_when_idle()
        if self._connections:
            self._all_closed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), DRAIN_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()

    # -- accepting ----------------------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Accepts again, if it had stopped and may."""
        if self._is_accepting or not self._is_serving or self._retry is not None:
            return
        if not self._quotas.has_slot(self.config.name):
            return
        self._is_accepting = True
        for bound in self._sockets:
            asyncio.get_running_loop().add_reader(bound, self._accept, bound)

    def _pause(self, seconds: float | None = None) -> None:
        """Accepts nobody: for some time, or until `resume`."""
        loop = asyncio.get_running_loop()
        self._is_accepting = False
        for bound in self._sockets:
            loop.remove_reader(bound)
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if seconds is not None:
            self._retry = loop.call_later(seconds, self._retry_accepting)

    def _retry_accepting(self) -> None:
        self._retry = None
        self.resume()

    def _accept(self, bound: socket.socket) -> None:
        name = self.config.name
        for _ in range(ACCEPTS_PER_TURN):
            if not self._quotas.has_slot(name):
                self._pause()
                return
            if seconds := self._quotas.pause_seconds(name, asyncio.get_running_loop().time()):
                self._pause(seconds)
                return
            try:
                accepted, peer = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                remedy = "; raise ulimit -n" if error.errno in (errno.EMFILE, errno.ENFILE) else ""
                logger.error("No connection can be accepted on %s for now: %s%s", name, error.strerror, remedy)
                self._pause(RETRY_SECONDS)
                return
            self._admit(accepted, peer[0])

    def _admit(self, accepted: socket.socket, address: str) -> None:
        if not self._quotas.try_take(self.config.name, address):
            accepted.close()
            reason = "the address has as many as max.connections.per.ip allows"
            self._dispatcher.rejections.note("too_many_connections", address, reason)
            return
        self._tasks.start(self._connect(accepted, address))
        self._on_change()

    async def _connect(self, accepted: socket.socket, address: str) -> None:
        """Hands a socket to the event loop, with a connection behind it."""
        connection = Connection(
            self._dispatcher,
            self.config.name,
            address,
            self._request_bytes_max,
            on_open=self._keep,
            on_close=self._forget,
        )
        try:
            accepted.setblocking(False)
            # The connection of a client whose machine went away must not stay for ever.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, accepted)
        except OSError:  # It is gone already.
            if connection not in self._connections:
                accepted.close()
                self._quotas.release(self.config.name, address)
                self._on_change()

    def _keep(self, connection: Connection) -> None:
        self._connections[connection] = None

    def _forget(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._quotas.release(self.config.name, connection.client_host)
        self._on_change()
        if not self._connections:
            self._all_closed.set()


def _explain(config: ListenerConfig, error: OSError) -> str:
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
