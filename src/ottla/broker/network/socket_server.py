"""The acceptors of one kind of listener, one for each address, and which connections may stay.

The server closes a connection for two reasons. It was idle for `connections.max.idle.ms`; or more are open than
`max.connections` allows, because the limit was lowered or the inter-broker listener took its protected share. Then
those that were idle longest go, until the limit holds.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Iterator, Mapping, Sequence

from ottla.broker.host import Host
from ottla.broker.network.acceptor import Acceptor
from ottla.broker.network.connection import Connection
from ottla.broker.network.connection_quotas import ConnectionLimits, ConnectionQuotas, overrides_by_host
from ottla.broker.requests.dispatch import Dispatcher
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.config.listeners import Listener

logger = logging.getLogger("ottla.broker.network.socket_server")

# A connection may outstay the idle time by this share of it, since visiting every connection costs time.
_IDLE_TOLERANCE = 0.05
_IDLE_LOOK_S_MIN = 0.01


class SocketServer:
    """The listening sockets and their connections, from start to stop."""

    def __init__(
        self, listeners: Sequence[Listener], config: BrokerConfig, dispatcher: Dispatcher, tasks: Tasks, host: Host
    ) -> None:
        """The listeners are of one kind, which `dispatcher` serves."""
        self._config = config
        self._tasks = tasks
        self._idle_seconds = config.get_int("connections.max.idle.ms") / 1000
        self._idle_rounds: asyncio.Task[None] | None = None
        self._quotas = ConnectionQuotas(ConnectionLimits.of(config, {}), config.inter_broker_listener_name)
        self._acceptors = [
            Acceptor(listener, config, dispatcher, self._quotas, tasks, host, self._connections_changed)
            for listener in listeners
        ]
        self._limits_of: BrokerConfig | None = None

    def __iter__(self) -> Iterator[Acceptor]:
        return iter(self._acceptors)

    def __getitem__(self, index: int) -> Acceptor:
        return self._acceptors[index]

    def __len__(self) -> int:
        return len(self._acceptors)

    async def start(self) -> None:
        """Binds every address, so that a busy one is found early."""
        for acceptor in self._acceptors:
            await acceptor.start()

    def serve(self, config: BrokerConfig) -> None:
        """Accepts connections from now on, within the limits of `config`."""
        self.apply(config)
        for acceptor in self._acceptors:
            acceptor.serve()
        if self._idle_seconds >= 0:
            interval_s = max(self._idle_seconds * _IDLE_TOLERANCE, _IDLE_LOOK_S_MIN)
            self._idle_rounds = self._tasks.start_periodic("closing of idle connections", self._close_idle, interval_s)

    async def stop(self) -> None:
        if self._idle_rounds is not None:
            self._idle_rounds.cancel()
        for acceptor in self._acceptors:
            await acceptor.stop()

    def turn_away(self, turns_away: bool) -> None:
        """Sends all clients to other brokers, as if nobody listened here; or serves them again."""
        for acceptor in self._acceptors:
            acceptor.turn_away(turns_away)

    def apply(self, config: BrokerConfig) -> None:
        """Applies the limits of this configuration."""
        if config is self._limits_of:
            return
        self._limits_of = config
        by_host = overrides_by_host(config)
        self._limit(config, {host: count for host, count in by_host.items() if _is_address(host)})
        names = {host: count for host, count in by_host.items() if not _is_address(host)}
        if names:
            self._tasks.start_background("resolution of host names", self._limit_names(config, names))

    async def _limit_names(self, config: BrokerConfig, names: dict[str, int]) -> None:
        """Adds the limits of hosts given by name; resolving them may take a while."""
        counts: dict[str, int] = {}
        for host, count in names.items():
            try:
                found = await asyncio.get_running_loop().getaddrinfo(host, None)
            except OSError as error:
                logger.warning("Host %s in max.connections.per.ip.overrides cannot be resolved: %s", host, error)
                continue
            counts |= {str(address[4][0]): count for address in found}
        if config is self._limits_of:
            self._limit(config, {**counts, **self._quotas.limits.per_ip_overrides})

    def _limit(self, config: BrokerConfig, overrides: Mapping[str, int]) -> None:
        self._quotas.limits = ConnectionLimits.of(config, overrides)
        self._connections_changed()

    # -- which connections close --------------------------------------------------------------------------------------

    def _connections_changed(self) -> None:
        if any(self._quotas.has_excess(acceptor.listener.name) for acceptor in self._acceptors):
            self._close_excess()
        for acceptor in self._acceptors:
            acceptor.resume()

    def _close_excess(self) -> None:
        open_connections = [connection for acceptor in self._acceptors for connection in acceptor.connections]
        # A connection that was told to close counts until it is gone.
        leaving = sum(1 for connection in open_connections if not connection.is_open)
        excess = self._quotas.count - self._quotas.limits.connections_max - leaving
        if excess <= 0:
            return
        candidates = [
            connection
            for connection in open_connections
            if connection.is_open and self._quotas.has_excess(connection.listener)
        ]
        candidates.sort(key=_last_active)
        for connection in candidates[:excess]:
            logger.info("Closing the connection from %s: max.connections is reached", connection.client_host)
            connection.abort()

    async def _close_idle(self) -> None:
        now = asyncio.get_running_loop().time()
        for acceptor in self._acceptors:
            for connection in acceptor.connections:
                if connection.has_request or not connection.is_open:
                    continue
                if now - connection.last_active >= self._idle_seconds:
                    logger.debug("Closing the connection from %s: it is idle", connection.client_host)
                    connection.abort()


def _last_active(connection: Connection) -> float:
    return connection.last_active


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
