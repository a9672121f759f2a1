"""A node from start to stop: storage, quorum, logs, groups, listeners, in that order, and back.

Start: bind the sockets (a busy port is found before anything else is touched), lock the directories, replay the
metadata, open and recover the logs, register as a broker, load the groups, and only then take connections.

Stop, on SIGTERM or SIGINT: take no more connections, answer what is in progress, close groups and quorum, flush and
mark every directory as cleanly shut down, but for one that hangs. A node that is killed instead recovers at its next
start.

A failed metadata log, or the loss of every log directory, ends the process: it could no longer promise anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ottla.broker.allocator import keep_freed_memory
from ottla.broker.change_journal import ChangeJournal
from ottla.broker.controller.controller import OwnRequest
from ottla.broker.controller.deciders import Surroundings
from ottla.broker.controller.following import FollowingController
from ottla.broker.controller.role import ControllerRole
from ottla.broker.coordinators.internal_topic import InternalTopic
from ottla.broker.coordinators.leadership import ShardLeadership
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.cordoning import Cordoning
from ottla.broker.directory_closing import close_directories, settled
from ottla.broker.dispatch import Dispatcher
from ottla.broker.dynamic_configs import DynamicConfigs
from ottla.broker.groups import GroupCoordinator
from ottla.broker.groups.offsets_topic import OFFSETS_TOPIC, offsets_topic_spec
from ottla.broker.handlers import load_handlers
from ottla.broker.host import Host, Machine, storage_host
from ottla.broker.maintenance import Maintenance
from ottla.broker.network.descriptor_limit import raise_descriptor_limit
from ottla.broker.network.listener import Listener, ListenFailed
from ottla.broker.network.listeners import Listeners
from ottla.broker.node_storage import NodeStorage, UnusableStorage, open_storage
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.quorum import ImageReader, MetadataLog, MetadataQuorumSettings
from ottla.broker.quorum.disk_log_store import DiskLogStore
from ottla.broker.quorum.transport import NoPeers, UnusableQuorum
from ottla.broker.replica_manager import SPACE_RETRY_S, ReplicaManager
from ottla.broker.services import Services
from ottla.broker.storage_format import lone_voter
from ottla.broker.tasks import Tasks
from ottla.broker.topic_creation import TopicCreation
from ottla.broker.transactions.channel import TransactionChannel
from ottla.broker.transactions.coordinator import TransactionCoordinator
from ottla.broker.transactions.markers import MarkerWriter
from ottla.broker.transactions.partition_adding import PartitionAdding
from ottla.broker.transactions.state_topic import TRANSACTION_TOPIC, transaction_topic_spec
from ottla.broker.volumes import Volumes
from ottla.config import unserved
from ottla.config.broker_config import BrokerConfig
from ottla.config.values import ConfigError
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.metadata.controller.features import SUPPORTED, TRANSACTION_VERSION
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature
from ottla.protocol.messages.broker_registration_request import Listener as RegisteredListener
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from ottla.raft import ReplicaKey
from ottla.replication.fetch_session import FetchSessionCache
from ottla.storage.errors import DamagedFile, DifferentLogs, StorageError, UnsupportedSegment
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.storage.partition_directories import TopicPartition

if TYPE_CHECKING:
    from ottla.broker.metrics.node_metrics import NodeMetrics

logger = logging.getLogger("ottla.broker.node")

FETCH_SESSION_EVICTION_MS = 120_000
_INT32_MAX = 2**31 - 1
THREAD_SWITCH_SECONDS = 0.0005
FULL_COLLECTION_THRESHOLD = 1_000
_OPENER_THREADS = 2


# What the operator can mend; anything else is a bug, and its traceback is wanted.
START_FAILURES = (
    ConfigError,
    DamagedFile,
    DifferentLogs,
    ListenFailed,
    StorageError,
    UnsupportedSegment,
    UnusableQuorum,
    UnusableStorage,
)


class StartupError(Exception):
    """The node cannot start; the message says why and what to do."""


class Node:
    """A broker with its own controller."""

    def __init__(
        self, config: BrokerConfig, metrics_address: tuple[str, int] | None = None, host: Host | None = None
    ) -> None:
        """With a metrics address the node counts what it does, and tells it there."""
        self.config = config
        self._host = host = host or Machine()
        self.metrics = None if metrics_address is None else _metrics(metrics_address, host)
        self.cluster_id = ""
        self.failed: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._tasks = Tasks()
        self._openers = host.thread_pool(_OPENER_THREADS, "opener")
        self._configs = DynamicConfigs(config)
        self._dispatcher = Dispatcher(load_handlers(), host) if self.metrics is None else self.metrics.dispatcher
        self._dispatcher.request_budget.limit_bytes = config.get_int("queued.max.request.bytes")
        self._listeners = Listeners(config, self._dispatcher, self._tasks, host)
        self._broker_epoch = -1
        self._storage: NodeStorage | None = None
        self._metadata_log: MetadataLog
        self._controller_role: ControllerRole
        self._metadata: ImageReader
        self._controller: FollowingController
        self._logs: LogManager
        self.replicas: ReplicaManager
        self._groups: GroupCoordinator
        self._transactions: TransactionCoordinator
        self._maintenance: Maintenance
        self._cordoning: Cordoning
        self._absent_directory_ids: tuple[bytes, ...]
        self._journal: ChangeJournal

    @property
    def listeners(self) -> list[Listener]:
        """The sockets that are served, with the ports they really have."""
        return list(self._listeners)

    # -- start ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Returns when clients are served; StartupError if that is not to be."""
        try:
            unserved.check(self.config.static_values)
            await self._listeners.start()
            if self.metrics is not None:
                await self.metrics.endpoint.start()
            self._storage = storage = await asyncio.to_thread(open_storage, self.config, self._host)
            self.cluster_id = storage.cluster_id
            if storage.was_formatted_now:
                logger.info("Formatted new storage; the cluster's id is %s", self.cluster_id)
            await self._start_metadata(storage)
            await self._open_logs(storage)
        except Exception as error:
            await self._abandon()
            if isinstance(error, START_FAILURES):
                raise StartupError(str(error)) from error
            raise
        self._dispatcher.services = self._assemble(self._dispatcher)
        await self._register(storage)
        await self._groups.shards.loaded()
        await self._transactions.shards.loaded()
        self._maintenance.apply(self._configs.current(self._metadata.image))
        self._maintenance.start()
        self._tasks.start_periodic("unmade partitions", self._make_unmade, SPACE_RETRY_S)
        try:
            self._listeners.serve(self._configs.current(self._metadata.image))
        except ListenFailed as error:
            # Somebody else began to listen meanwhile.
            await self.stop()
            raise StartupError(str(error)) from error
        if self.metrics is not None:
            await self.metrics.serve(self.listeners, self._maintenance)

    async def _start_metadata(self, storage: NodeStorage) -> None:
        config = self.config
        directory = storage.metadata_directory.path / METADATA_PARTITION_DIRECTORY
        self._metadata_log = log = MetadataLog(
            local=ReplicaKey(config.node_id, storage.metadata_directory_id),
            static_voters=lone_voter(config, storage.metadata_directory_id) if config.quorum_voters else None,
            directory=directory,
            file_system=storage.metadata_file_system,
            open_log=lambda start_offset: DiskLogStore(
                storage.metadata_file_system,
                directory,
                start_offset=start_offset,
                segment_bytes=config.get_int("metadata.log.segment.bytes"),
                segment_ms=config.get_int("metadata.log.segment.ms"),
                wall_clock_ms=self._host.now_ms,
            ),
            host=self._host,
            transport=NoPeers(),
            settings=MetadataQuorumSettings.of(config),
        )
        await log.open()
        self._controller_role = ControllerRole(
            log,
            Surroundings(
                cluster_id=self.cluster_id,
                config=config,
                configs=DynamicConfigs(config),
                host=self._host,
                kraft_version=lambda: log.kraft_version,
            ),
        )
        log.start()
        try:
            await self._controller_role.start()
        except Exception:
            await log.stop()
            raise
        log.failed.add_done_callback(self._metadata_failed)
        self._metadata = log.reader()
        self._controller = FollowingController(self._controller_role, log, self._metadata)

    async def _open_logs(self, storage: NodeStorage) -> None:
        image = self._metadata.image
        self._absent_directory_ids = _absent_directory_ids(image, self.config.node_id, storage)
        self._logs = LogManager(
            storage.directories,
            offline=storage.offline_paths,
            absent_ids=self._absent_directory_ids,
            on_directory_failure=self._directory_failed,
            host=storage_host(self._host),
        )
        ids = dict(zip((directory.path for directory in storage.directories), storage.directory_ids, strict=True))
        self._cordoning = Cordoning(self._logs, self._controller, ids, self._tasks)
        self._cordoning.apply(self._configs.current(image))
        self.replicas = ReplicaManager(self.config.node_id, self._logs, self._configs.log_config, self._host)
        threads = self.config.get_int("num.recovery.threads.per.data.dir")

        def load() -> None:
            self._logs.load(
                lambda topic: self._configs.log_config(image, topic),
                recovery_threads=threads,
                now_ms=self._host.now_ms(),
            )

        await asyncio.to_thread(load)
        await self.replicas.apply_all(image)

    def _assemble(self, dispatcher: Dispatcher) -> Services:
        topic_creation = TopicCreation(self._controller)
        group_config = _group_config(self.config)
        log = PartitionCoordinatorLog(
            self.replicas,
            OFFSETS_TOPIC,
            group_config.offsets_commit_timeout_ms,
            self.config.get_int("offsets.load.buffer.size"),
        )
        offsets_topic = InternalTopic(
            offsets_topic_spec(group_config), lambda: self._metadata.image, topic_creation.create_internal
        )
        self._groups = GroupCoordinator(group_config, log, offsets_topic, self._tasks, self._host)
        producer_ids = ProducerIds(self._allocate_producer_ids)
        transaction_config = _transaction_config(self.config)
        channel = TransactionChannel(self.config.node_id, self.config.inter_broker_listener_name, dispatcher)
        transaction_topic = InternalTopic(
            transaction_topic_spec(transaction_config), lambda: self._metadata.image, topic_creation.create_internal
        )
        self._transactions = TransactionCoordinator(
            transaction_config,
            PartitionCoordinatorLog(
                self.replicas,
                TRANSACTION_TOPIC,
                self.config.get_int("request.timeout.ms"),
                self.config.get_int("transaction.state.log.load.buffer.size"),
            ),
            transaction_topic,
            MarkerWriter(channel, lambda: self._metadata.image),
            producer_ids,
            self._tasks,
            self._host,
            transaction_version=lambda: self._metadata.image.features.get(TRANSACTION_VERSION, 0),
        )
        self._maintenance = Maintenance(self._logs, self.config, self._tasks, self.replicas.tell_log_starts, self._host)
        return Services(
            cluster_id=self.cluster_id,
            config=self.config,
            host=self._host,
            dynamic_configs=self._configs,
            metadata_log=self._metadata_log,
            metadata=self._metadata,
            controller=self._controller,
            controller_role=self._controller_role,
            replicas=self.replicas,
            groups=self._groups,
            transactions=self._transactions,
            topic_creation=topic_creation,
            partition_adding=PartitionAdding(transaction_config, transaction_topic, channel),
            producer_ids=producer_ids,
            fetch_sessions=self._fetch_sessions(),
            response_budget=dispatcher.response_budget,
            tasks=self._tasks,
            volumes=Volumes(self._host),
            openers=self._openers,
            served_versions={key: api.versions for key, api in dispatcher.apis.items()},
        )

    def _fetch_sessions(self) -> FetchSessionCache:
        return FetchSessionCache(
            self.config.get_int("max.incremental.fetch.session.cache.slots"),
            FETCH_SESSION_EVICTION_MS,
            lambda: self._host.random_below(_INT32_MAX),
        )

    async def _register(self, storage: NodeStorage) -> None:
        """Tells the controller that this broker is there, then that it has caught up."""
        config = self.config
        self._journal = ChangeJournal(self._configs, self._metadata.image)
        self._metadata.start(self._image_changed, "broker")
        registration = BrokerRegistrationRequest(
            broker_id=config.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self._host.random_uuid(),
            listeners=self._advertised(),
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in sorted(SUPPORTED.items())
            ],
            # Those that are away stay known, or the next start would take what lies there for never written.
            log_dirs=sorted((*storage.directory_ids, *self._absent_directory_ids)),
            rack=config.rack,
        )
        try:
            registered = await self._controller.handle(OwnRequest.of(registration), registration)
            assert isinstance(registered, BrokerRegistrationResponse)
            self._broker_epoch = registered.broker_epoch
            await self._heartbeat()
        except ApiError as error:
            raise StartupError(f"The controller refused this broker: {error.message}") from error
        self._cordoning.tell(self._metadata.image, config.node_id)
        self.replicas.subscribe(self._partitions_lost)
        self._lead_coordinators(self._metadata.image)
        self._groups.start()
        self._transactions.start()

    async def _heartbeat(self, *, wants_shutdown: bool = False) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self.config.node_id,
            broker_epoch=self._broker_epoch,
            current_metadata_offset=self._metadata.image.end_offset - 1,
            want_shut_down=wants_shutdown,
        )
        response = await self._controller.handle(OwnRequest.of(request), request)
        assert isinstance(response, BrokerHeartbeatResponse)
        return response

    def _advertised(self) -> list[RegisteredListener]:
        ports = {listener.config.name: listener.port for listener in self._listeners}
        return [
            RegisteredListener(
                name=x.name,
                host=x.host,
                port=x.port or ports[x.name],
                security_protocol=_SECURITY_PROTOCOL_IDS[x.security_protocol],
            )
            for x in self.config.advertised_listeners
        ]

    async def _abandon(self) -> None:
        """Lets go of what a start that failed had taken."""
        await self._listeners.stop()
        if self.metrics is not None:
            await self.metrics.endpoint.stop()
        if self._storage is not None:
            self._storage.release()
        self._openers.shutdown()
        self._dispatcher.close()

    # -- while it runs ------------------------------------------------------------------------------------------------

    async def _image_changed(self, delta: ImageDelta, image: ClusterImage) -> None:
        await self.replicas.apply(delta, image)
        self._journal.note(delta, image)
        for name, shards in self._coordinators():
            if name in delta.deleted_topics.values():
                shards.resign_all()
        if delta.deleted_topics:
            self._groups.topics_deleted(list(delta.deleted_topics.values()))
        self._lead_coordinators(image)
        self._listeners.apply(self._configs.current(image))
        self._maintenance.apply(self._configs.current(image))
        self._cordoning.apply(self._configs.current(image))
        self._cordoning.tell(image, self.config.node_id)

    def _coordinators(self) -> tuple[tuple[str, ShardLeadership[Any, Any]], ...]:
        return (OFFSETS_TOPIC, self._groups.shards), (TRANSACTION_TOPIC, self._transactions.shards)

    def _lead_coordinators(self, image: ClusterImage) -> None:
        """Serves the coordinators' partitions that this broker leads, and no others."""
        for name, shards in self._coordinators():
            topic = image.topics.by_name(name)
            for index, state in () if topic is None else topic.partitions.items():
                if state.leader == self.config.node_id and self.replicas.is_online(name, index):
                    shards.become_leader(index, state.leader_epoch)
                else:
                    shards.resign(index)

    def _partitions_lost(self, lost: list[TopicPartition]) -> None:
        """A disk failed: what a coordinator knows of its partitions cannot be changed any more, and is not told."""
        for name, shards in self._coordinators():
            for topic, index in lost:
                if topic == name and not self.replicas.is_online(topic, index):
                    shards.resign(index)

    async def _make_unmade(self) -> None:
        await self.replicas.make_unmade(
            lambda: self._metadata.image, lambda: self._lead_coordinators(self._metadata.image)
        )

    async def _allocate_producer_ids(self) -> range:
        request = AllocateProducerIdsRequest(broker_id=self.config.node_id, broker_epoch=self._broker_epoch)
        block = await self._controller.handle(OwnRequest.of(request), request)
        assert isinstance(block, AllocateProducerIdsResponse)
        return range(block.producer_id_start, block.producer_id_start + block.producer_id_len)

    def _directory_failed(self, directory: LogDirectory, lost: list[TopicPartition]) -> None:
        """May be called in any thread."""
        loop = self.failed.get_loop()
        loop.call_soon_threadsafe(self.replicas.directory_failed, lost)
        if not self._logs.online_directories:
            error = StartupError(f"Every log directory has failed, {directory.path} last")
            loop.call_soon_threadsafe(self._fail, error)

    def _metadata_failed(self, failed: asyncio.Future[Exception]) -> None:
        if not failed.cancelled():
            self._fail(failed.result())

    def _fail(self, error: Exception) -> None:
        if not self.failed.done():
            self.failed.set_result(error)

    # -- stop -------------------------------------------------------------------------------------------------------

    async def stop(self) -> list[LogDirectory]:
        """Leaves everything so that the next start needs no recovery; without the directories that did not answer."""
        self._groups.close()
        self._transactions.close()
        if self.metrics is not None:
            await self.metrics.endpoint.stop()
        await self._listeners.stop()
        await self._maintenance.cancel()
        all_threads = self.replicas.threads.values()
        # A move of a log ends with what its disks have to do.
        await settled(asyncio.ensure_future(self._tasks.cancel_all()), all_threads, all_threads)
        if not self._metadata_log.failed.done():
            await self._leave()
        await self._controller_role.stop()
        await self._metadata_log.stop()
        # Nobody waits any more for batches that were still to be opened.
        self._openers.shutdown(cancel_futures=True)
        self._dispatcher.close()
        return await self._close_directories()

    async def _close_directories(self) -> list[LogDirectory]:
        all_threads = self.replicas.threads.values()

        def end_passes() -> None:
            self._maintenance.join()
            self.replicas.stop_copying()

        def close(directory: LogDirectory) -> None:
            self._logs.close(
                broker_epoch=self._broker_epoch,
                now_ms=self._host.now_ms(),
                threads_per_directory=self.config.get_int("num.recovery.threads.per.data.dir"),
                only=directory,
            )

        passes = asyncio.get_running_loop().run_in_executor(None, end_passes)
        await settled(passes, all_threads, all_threads)
        given_up = await close_directories(all_threads, close, self._host)
        logger.info("Stopped")
        return given_up

    async def _leave(self) -> None:
        """Tells the controller that this broker goes; a full disk must not keep it from going."""
        with contextlib.suppress(ApiError):
            await self._heartbeat(wants_shutdown=True)


def _absent_directory_ids(image: ClusterImage, node_id: int, storage: NodeStorage) -> tuple[bytes, ...]:
    """Directories with which this node was registered before, and that it does not have now."""
    known = image.brokers.get(node_id)
    return () if known is None else tuple(one for one in known.log_dirs if one not in storage.directory_ids)


def _metrics(address: tuple[str, int], host: Host) -> NodeMetrics:
    # Only who wants them pays for their import.
    from ottla.broker.metrics.node_metrics import NodeMetrics

    return NodeMetrics(address, load_handlers(), host)


_SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


def _group_config(config: BrokerConfig) -> GroupConfig:
    return GroupConfig(**{name: config.get_int(name.replace("_", ".")) for name in GroupConfig.__dataclass_fields__})


def _transaction_config(config: BrokerConfig) -> TransactionConfig:
    names = TransactionConfig.__dataclass_fields__
    return TransactionConfig(**{name: config.get_int(name.replace("_", ".")) for name in names})


def run(
    config: BrokerConfig, on_started: Callable[[Node], None], metrics_address: tuple[str, int] | None = None
) -> None:
    """Runs a node until SIGINT or SIGTERM; StartupError if it cannot start or cannot go on."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(config, on_started, metrics_address))


async def _run(
    config: BrokerConfig, on_started: Callable[[Node], None], metrics_address: tuple[str, int] | None
) -> None:
    raise_descriptor_limit()
    keep_freed_memory()
    # Threads open batches and read large requests; the event loop must not wait long for its turn between them.
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    # A full collection stops everything for as long as it takes to visit every object. Hardly anything here is a cycle.
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION_THRESHOLD)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    node = Node(config, metrics_address)
    await node.start()
    gc.freeze()
    on_started(node)
    stopped = loop.create_task(stopping.wait())
    await asyncio.wait((stopped, node.failed), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if node.failed.done():
        # What the disk holds is not known any more: end here, and recover at the next start.
        raise StartupError(f"The node cannot go on: {node.failed.result()}")
    logger.info("Shutting down")
    if await node.stop():
        # Threads that hang cannot be ended, and nothing that is left to do may wait for them.
        logging.shutdown()
        os._exit(1)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
