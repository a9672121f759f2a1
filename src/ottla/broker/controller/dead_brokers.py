"""Notices that the process of a broker is gone, before its session ends.

A broker that falls silent is fenced when its session ends; it may be slow, or cut off. A process that has died shows
more: the system closes its connections, and refuses new ones at its address. So when the connection breaks over which a
broker sends its heartbeats, the active controller looks whether anybody listens where the broker does; and a new one,
to which nobody has connected yet, looks at every broker once. Only a refusal counts. No answer, or no way to get there,
proves nothing.

Only liveness depends on it: a broker that is fenced in error, because it does not listen yet or a firewall refuses this
node alone, is unfenced by its next heartbeat.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from ottla.broker.controller.role import ControllerRole
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.broker.tasks import Tasks
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.client.errors import ClientError, ConnectionRefused
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.errors import ApiError
from ottla.storage.errors import DiskFull

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection

logger = logging.getLogger("ottla.broker.controller")

# While a process ends, its port may still take a connection that nobody will serve.
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.05
_CONNECT_TIMEOUT_S: Final = 2.0


class DeadBrokers:
    def __init__(self, role: ControllerRole, log: MetadataLog, tasks: Tasks) -> None:
        """The role must watch the log already, so that it hears of everything first."""
        self._role = role
        self._log = log
        self._tasks = tasks
        self._seen_epoch: int | None = None
        log.watch(self)

    def heard(self, connection: Connection, broker_id: int, broker_epoch: int) -> None:
        """A life of a broker sends its heartbeats over this connection."""
        connection.on_lost = lambda: self._connection_lost(broker_id, broker_epoch)

    def _connection_lost(self, broker_id: int, broker_epoch: int) -> None:
        broker = self._log.image.brokers.get(broker_id)
        if self._role.is_active and broker is not None and broker.epoch == broker_epoch:
            self._tasks.start_background("a look at a broker that has disconnected", self._look(broker))

    async def _look(self, broker: BrokerImage) -> None:
        for _ in range(_ATTEMPTS):
            is_gone = await _is_gone(broker)
            if is_gone is None:
                await asyncio.sleep(_PAUSE_S)
                continue
            if is_gone:
                try:
                    await self._role.broker_died(broker.id, broker.epoch)
                except ApiError as error:
                    logger.warning("Broker %d is gone, and could not be fenced: %s", broker.id, error)
            return

    # --- what happens to the log ----------------------------------------------------------------------------------

    def published(self, image: ClusterImage) -> None:
        epoch = self._log.leader_epoch
        if not self._role.is_active or epoch == self._seen_epoch:
            return
        self._seen_epoch = epoch
        for broker in image.brokers.unfenced():
            if broker.id != self._log.local.id:
                self._tasks.start_background("a new controller's look at a broker", self._look(broker))

    def role_changed(self) -> None: ...

    def committed(self, end_offset: int) -> None: ...

    def space_changed(self, full: DiskFull | None) -> None: ...

    def log_failed(self, error: Exception) -> None: ...


async def _is_gone(broker: BrokerImage) -> bool | None:
    """True if nobody listens at any address of the broker, False if it answers, None if neither is certain."""
    for endpoint in broker.endpoints:
        try:
            connection = await open_connection(
                Address(endpoint.host, endpoint.port),
                client_id="controller-look",
                connect_timeout_s=_CONNECT_TIMEOUT_S,
                request_timeout_s=_CONNECT_TIMEOUT_S,
            )
        except ConnectionRefused:
            continue
        except ClientError:
            return None
        await connection.close()
        return False
    return bool(broker.endpoints)
