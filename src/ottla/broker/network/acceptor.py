"""An acceptor takes the connections of one listener, and holds them until they end.

It stops accepting while the connection quotas say so, and while the process has no file descriptors left. It resumes
when a connection has ended or some time has passed; until then, new clients wait in the kernel's queue.
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
from ottla.config.listeners import Listener

logger = logging.getLogger("ottla.broker.network.acceptor")

# How long a stopping node waits for the answers to requests in progress; long polls are cut off.
DRAIN_SECONDS = 1.0
# A storm of new connections takes turns with the requests of those already open.
ACCEPTS_PER_TURN = 64
# The pause after accept() failed, mostly for want of file descriptors: nothing tells us when one is closed elsewhere.
RETRY_SECONDS = 1.0


class ListenFailed(Exception):
    """A listener's address cannot be used; the message says why and what to do."""


class Acceptor:
    """Accepts connections for one entry of `listeners`."""

    def __init__(
        self,
        listener: Listener,
        config: BrokerConfig,
        dispatcher: Dispatcher,
        quotas: ConnectionQuotas,
        tasks: Tasks,
        host: Host,
        on_change: Callable[[], None],
    ) -> None:
        """`on_change` is called after each connection that was accepted or has ended."""
        self.listener = listener
        self._config = config
        self._dispatcher = dispatcher
        self._quotas = quotas
        self._tasks = tasks
        self._host = host
        self._on_change = on_change
        self._request_bytes_max = config.get_int("socket.request.max.bytes")
        # In the order in which they were accepted.
        self._connections: dict[Connection, None] = {}
        self._all_closed = asyncio.Event()
        self._sockets: list[socket.socket] = []
        self._is_serving = False
        self._is_accepting = False
        self._turns_away = False
        self._retry: asyncio.TimerHandle | None = None
        self.port = listener.port

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The connections that are open now."""
        return tuple(self._connections)

    async def start(self) -> None:
        """Binds the address; port 0 becomes the port that the system chose."""
        try:
            self._sockets = await self._host.bind(self.listener.host, self.listener.port)
        except OSError as error:
            raise ListenFailed(_explain(self.listener, error)) from None
        except UnicodeError:
            raise ListenFailed(f"{self.listener.host!r} is not a host name. Correct the listeners setting.") from None
        self.port = self._sockets[0].getsockname()[1]
        self._quotas.add_listener(self.listener.name)

    def serve(self) -> None:
        """Listens, and accepts connections from now on."""
        try:
            for bound in self._sockets:
                listen(bound, self._config)
        except OSError as error:
            raise ListenFailed(_explain(self.listener, error)) from None
        self._is_serving = True
        self.resume()
        logger.info("Listening on %s", replace(self.listener, port=self.port))

    async def stop(self) -> None:
        """Stops accepting, waits for the answers to requests in progress, and closes every connection."""
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

    def turn_away(self, turns_away: bool) -> None:
        """Closes every connection, now and as soon as it is accepted; or stops doing so."""
        if turns_away and not self._turns_away:
            for connection in tuple(self._connections):
                connection.abort()
        self._turns_away = turns_away

    # -- accepting ----------------------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Accepts again if it had paused and the quotas allow it."""
        if self._is_accepting or not self._is_serving or self._retry is not None:
            return
        if not self._quotas.has_slot(self.listener.name):
            return
        self._is_accepting = True
        for bound in self._sockets:
            asyncio.get_running_loop().add_reader(bound, self._accept, bound)

    def _pause(self, seconds: float | None = None) -> None:
        """Stops accepting for some time, or until `resume`."""
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
        name = self.listener.name
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
                logger.error("Listener %s cannot accept connections for now: %s%s", name, error.strerror, remedy)
                self._pause(RETRY_SECONDS)
                return
            self._admit(accepted, peer[0])

    def _admit(self, accepted: socket.socket, address: str) -> None:
        if self._turns_away:
            accepted.close()
            return
        if not self._quotas.try_take(self.listener.name, address):
            accepted.close()
            reason = "the address has as many as max.connections.per.ip allows"
            self._dispatcher.rejections.note("too_many_connections", address, reason)
            return
        self._tasks.start(self._connect(accepted, address))
        self._on_change()

    async def _connect(self, accepted: socket.socket, address: str) -> None:
        """Hands an accepted socket to the event loop, with a Connection as its protocol."""
        connection = Connection(
            self._dispatcher,
            self.listener.name,
            address,
            self._request_bytes_max,
            on_open=self._keep,
            on_close=self._forget,
        )
        try:
            accepted.setblocking(False)
            # Without it, the connection of a client whose machine went away would stay for ever.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, accepted)
        except OSError:  # The client is gone already.
            if connection not in self._connections:
                accepted.close()
                self._quotas.release(self.listener.name, address)
                self._on_change()

    def _keep(self, connection: Connection) -> None:
        self._connections[connection] = None

    def _forget(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._quotas.release(self.listener.name, connection.client_host)
        self._on_change()
        if not self._connections:
            self._all_closed.set()


def _explain(listener: Listener, error: OSError) -> str:
    address = f"{listener.host or '*'}:{listener.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {listener.port} on {listener.host or 'all interfaces'} is in use by another process. "
            "Stop that process, or choose another address with --listen HOST:PORT or the listeners setting."
        )
    if error.errno == errno.EACCES:
        return f"{address} needs privileges that this process does not have. Choose a port above 1023."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{address} is not an address of this machine. Correct the listeners setting."
    return f"Cannot listen on {address}: {error.strerror or error}. Correct the listeners setting."
