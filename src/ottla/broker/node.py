"""A node: a metadata log, and beside it a controller role and a broker role, as `process.roles` says.

Start: bind the addresses, lock the directories, open the metadata log with the controller's listeners, follow the log
to where the quorum has committed it, start the broker on it. A controller is started when it takes part in the quorum;
it does not wait for the others, which may not have been started yet. A broker does, and says for whom.
Stop: the broker leaves in controlled shutdown and stops; the controller stops deciding and hands its lead over to
another voter; its listeners and the metadata log stop; then the log directories are closed. A node that is killed
instead recovers at its next start.

A failed metadata log, or the loss of every log directory, ends the process: it could not keep any promise.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ottla.broker.broker_role import BrokerRole
from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import Controller
from ottla.broker.controller.deciders import Surroundings
from ottla.broker.controller.listener import ControllerListener
from ottla.broker.controller.remote import ActiveControllerFinder
from ottla.broker.controller.role import ControllerRole
from ottla.broker.disks.node_storage import NodeStorage, UnusableStorage, open_storage
from ottla.broker.disks.storage_format import static_voters
from ottla.broker.handlers import load_handlers
from ottla.broker.host import Host, Machine
from ottla.broker.lifecycle import BrokerRefused
from ottla.broker.network.acceptor import Acceptor, ListenFailed
from ottla.broker.quorum import MetadataLog, MetadataQuorumSettings
from ottla.broker.quorum.description import describe_wait
from ottla.broker.quorum.disk_log_store import DiskLogStore
from ottla.broker.quorum.network import QuorumNetwork
from ottla.broker.quorum.opening import MetadataFiles
from ottla.broker.quorum.transport import UnusableQuorum
from ottla.broker.quorum.wire import Sender
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.dispatch import Dispatcher
from ottla.client.addresses import Address
from ottla.config import unserved
from ottla.config.broker_config import BrokerConfig
from ottla.config.values import ConfigError
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY
from ottla.metadata.image import ClusterImage
from ottla.metrics.errors import PageUnservable
from ottla.raft import ReplicaKey
from ottla.storage.errors import DamagedFile, DifferentLogs, StorageError, UnsupportedSegment
from ottla.storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from ottla.broker.metrics.node_metrics import NodeMetrics

logger = logging.getLogger("ottla.broker.node")

# How often a broker that waits for the quorum says so.
WAIT_NOTICE_S = 5.0
# Errors that the operator can mend. Anything else is a bug, and its traceback is wanted.
START_FAILURES = (
    BrokerRefused,
    ConfigError,
    DamagedFile,
    DifferentLogs,
    ListenFailed,
    PageUnservable,
    StorageError,
    UnsupportedSegment,
    UnusableQuorum,
    UnusableStorage,
)


class StartupError(Exception):
    """The node cannot start; the message says why and what to do."""


class Node:
    """One node, from start to stop."""

    def __init__(
        self, config: BrokerConfig, metrics_address: tuple[str, int] | None = None, host: Host | None = None
    ) -> None:
        """With a metrics address, the node counts what it does and serves the metrics there."""
        self.config = config
        self._host = host = host or Machine()
        self.metrics = None if metrics_address is None else _metrics(metrics_address, host)
        self.cluster_id = ""
        self.failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self.broker: BrokerRole | None = None
        if config.is_broker:
            dispatcher = Dispatcher(load_handlers(), host) if self.metrics is None else self.metrics.dispatcher
            self.broker = BrokerRole(config, dispatcher, host, self._fail)
        self._listener = ControllerListener(config, host) if config.is_controller else None
        self._storage: NodeStorage | None = None
        self._log: MetadataLog | None = None
        self._controller: ControllerRole | None = None
        self._finder: ActiveControllerFinder | None = None

    @property
    def acceptors(self) -> list[Acceptor]:
        """What accepts connections, one for each listener, with the ports that they really have; brokers' first."""
        found = [] if self.broker is None else list(self.broker.socket_server)
        return found if self._listener is None else [*found, *self._listener.socket_server]

    @property
    def replicas(self) -> ReplicaManager:
        """The partitions that live on the broker."""
        assert self.broker is not None, "a controller alone has none"
        return self.broker.replicas

    @property
    def image(self) -> ClusterImage:
        """The newest committed metadata that this node knows."""
        return ClusterImage() if self._log is None else self._log.image

    # -- start ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Returns when clients and other nodes are served; StartupError if the node cannot start."""
        try:
            unserved.check(self.config.static_values)
            if self.metrics is not None and self.broker is None:
                raise ConfigError("Metrics are those of a broker in this release: start a controller without them.")
            if self.broker is not None:
                await self.broker.bind()
            if self._listener is not None:
                await self._listener.bind()
            if self.metrics is not None:
                await self.metrics.endpoint.start()
            self._storage = storage = await asyncio.to_thread(open_storage, self.config, self._host)
            self.cluster_id = storage.cluster_id
            if storage.was_formatted_now:
                logger.info("Formatted new storage; the cluster's id is %s", self.cluster_id)
            log = await self._start_metadata(storage)
            if self.broker is not None:
                await self.broker.open(storage, log, self._active_controller(log), self._controller)
        except BaseException as error:
            await self._abandon()
            if isinstance(error, START_FAILURES):
                raise StartupError(str(error)) from error
            raise
        if self.broker is not None:
            await self._start_broker(self.broker)

    async def _start_broker(self, broker: BrokerRole) -> None:
        try:
            await broker.start()
            broker.serve()
        except START_FAILURES as error:
            await self.stop()
            raise StartupError(str(error)) from error
        except asyncio.CancelledError:
            await self.stop()
            raise
        if self.metrics is not None:
            await self.metrics.serve(self.acceptors, broker.maintenance)

    async def _start_metadata(self, storage: NodeStorage) -> MetadataLog:
        log = self._log = self._metadata_log(storage)
        await log.open()
        if self.config.is_controller:
            surroundings = Surroundings(
                cluster_id=storage.cluster_id,
                config=self.config,
                configs=DynamicConfigs(self.config),
                host=self._host,
                kraft_version=lambda: log.kraft_version,
            )
            self._controller = ControllerRole(log, surroundings)
        log.start()
        if self._controller is not None:
            self._controller.start()
            if self._listener is not None:
                self._listener.serve(storage.cluster_id, log, self._controller, self._active_controller(log))
        if self._controller is not None and log.voters.is_only(log.local):
            await self._controller.until_active()
        elif self._controller is not None:
            voters = ", ".join(map(str, log.voters.ids))
            logger.info("One of the controllers %s; %d of them elect a leader", voters, log.voters.majority)
        if self.broker is not None:
            await self._catch_up(log)
        log.failed.add_done_callback(self._log_failed)
        return log

    async def _catch_up(self, log: MetadataLog) -> None:
        catching_up = asyncio.ensure_future(log.until_caught_up())
        try:
            while not (await asyncio.wait((catching_up,), timeout=WAIT_NOTICE_S))[0]:
                logger.warning("The broker waits for %s", describe_wait(log))
        finally:
            catching_up.cancel()
        await catching_up

    def _active_controller(self, log: MetadataLog) -> Controller:
        if self._controller is not None and log.voters.is_only(log.local):
            return self._controller
        if self._finder is None:
            self._finder = ActiveControllerFinder(log, self._controller, node_id=self.config.node_id)
        return self._finder

    def _metadata_log(self, storage: NodeStorage) -> MetadataLog:
        config = self.config
        directory = storage.metadata_directory.path / METADATA_PARTITION_DIRECTORY
        settings = MetadataQuorumSettings.of(config)
        endpoints = () if self._listener is None else self._listener.endpoints
        return MetadataLog(
            local=ReplicaKey(config.node_id, storage.metadata_directory_id),
            static_voters=static_voters(config),
            files=MetadataFiles(
                directory,
                storage.metadata_file_system,
                open_log=lambda start_offset: DiskLogStore(
                    storage.metadata_file_system,
                    directory,
                    start_offset=start_offset,
                    segment_bytes=config.get_int("metadata.log.segment.bytes"),
                    segment_ms=config.get_int("metadata.log.segment.ms"),
                    wall_clock_ms=self._host.now_ms,
                ),
            ),
            host=self._host,
            transport=QuorumNetwork(
                node_id=config.node_id,
                sender=Sender(storage.cluster_id, endpoints),
                listener_names=config.controller_listener_names,
                settings=settings.raft,
                bootstrap=[Address(host, port) for host, port in config.quorum_bootstrap_servers],
            ),
            settings=settings,
            can_vote=config.is_controller,
        )

    async def _abandon(self) -> None:
        """Releases what a failed start had acquired."""
        if self.broker is not None:
            await self.broker.abandon()
        if self.metrics is not None:
            await self.metrics.endpoint.stop()
        if self._controller is not None:
            await self._controller.stop()
        if self._listener is not None:
            await self._listener.stop()
        if self._finder is not None:
            await self._finder.close()
        if self._log is not None:
            await self._log.stop()
        if self._storage is not None:
            self._storage.release()

    # -- while it runs ------------------------------------------------------------------------------------------------

    def _log_failed(self, failed: asyncio.Future[Exception]) -> None:
        if not failed.cancelled():
            self._fail(failed.result())

    def _fail(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_result(error)

    # -- stop -------------------------------------------------------------------------------------------------------

    async def stop(self) -> list[LogDirectory]:
        """Stops so that the next start needs no recovery; returns the directories that did not answer."""
        assert self._storage is not None
        assert self._log is not None
        if self.broker is not None:
            await self.broker.leave()
        if self.metrics is not None:
            await self.metrics.endpoint.stop()
        if self.broker is not None:
            await self.broker.stop()
        if self._finder is not None:
            await self._finder.close()
        if self._controller is not None:
            await self._controller.stop()
        await self._log.resign()
        if self._listener is not None:
            await self._listener.stop()
        await self._log.stop()
        given_up: list[LogDirectory] = []
        if self.broker is not None:
            given_up = await self.broker.close_directories()
        else:
            self._storage.release()
        logger.info("Stopped")
        return given_up


def _metrics(address: tuple[str, int], host: Host) -> NodeMetrics:
    # Imported here, so that only a node with metrics pays for it.
    from ottla.broker.metrics.node_metrics import NodeMetrics

    return NodeMetrics(address, load_handlers(), host)
