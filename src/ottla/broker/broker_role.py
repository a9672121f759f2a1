"""The broker role of a node: its listeners, the partitions that live on it, groups and transactions.

Start: bind the addresses, so that a busy port is found before anything else is touched; recover the logs; register;
take over the partitions as the metadata has them once it shows the registration, since what it said before was about a
former life of this broker; wait until the controller lets the broker lead; load the groups; and only then accept
connections. With several brokers, groups load while clients are served: those of a broker that returns may have moved,
and a log may be loaded only once other brokers have fetched it.

Stop, as Kafka does: controlled shutdown first, while clients are still served and leaderships move away. Then groups
and transactions, connections and background work end. At last the logs are flushed, and each directory is marked as
cleanly shut down, except one that hangs.

The loss of every log directory ends the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ottla.broker.configs.change_journal import ChangeJournal
from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import Controller, FollowingController
from ottla.broker.controller.remote import ActiveControllerFinder
from ottla.broker.controller.role import ControllerRole
from ottla.broker.coordinators.groups import GroupCoordinator
from ottla.broker.coordinators.internal_topic import (
    OFFSETS_TOPIC,
    TRANSACTION_TOPIC,
    CoordinatorStore,
    InternalTopic,
    InternalTopicSpec,
    offsets_topic_spec,
    transaction_topic_spec,
)
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.runtime import CoordinatorRuntime
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.coordinators.transactions.coordinator import TransactionCoordinator
from ottla.broker.coordinators.transactions.markers import MarkerWriter
from ottla.broker.coordinators.transactions.partition_adding import PartitionAdding
from ottla.broker.disks.cordoning import Cordoning
from ottla.broker.disks.directory_closing import close_directories, wait_unless_hanging
from ottla.broker.disks.directory_moves import DirectoryMoves
from ottla.broker.disks.directory_reports import DirectoryReports
from ottla.broker.disks.full_disks import FullDisks
from ottla.broker.disks.maintenance import Maintenance
from ottla.broker.disks.node_storage import NodeStorage
from ottla.broker.disks.volumes import Volumes
from ottla.broker.host import Host
from ottla.broker.in_sync_changes import InSyncChanges
from ottla.broker.lifecycle import BrokerLifecycle, LifecycleSettings
from ottla.broker.network.socket_server import SocketServer
from ottla.broker.peers import Peers, Purpose
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.quorum import ImageReader, MetadataLog
from ottla.broker.replica_fetching.fetcher import FetchSettings
from ottla.broker.replica_fetching.fetchers import ReplicaFetchers
from ottla.broker.replica_manager import SPACE_RETRY_S, ReplicaManager
from ottla.broker.requests.dispatch import Dispatcher
from ottla.broker.services import ClusterMetadata, Coordinators, DataPath, Replication, Services
from ottla.broker.tasks import Tasks
from ottla.broker.topic_creation import TopicCreation
from ottla.config.broker_config import BrokerConfig
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.metadata.controller.features import TRANSACTION_VERSION
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.messages.broker_registration_request import Listener as RegisteredListener
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicPartition
from ottla.replication.fetch_session import FetchSessionCache
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

logger = logging.getLogger("ottla.broker.role")

FETCH_SESSION_EVICTION_MS = 120_000
_INT32_MAX = 2**31 - 1
_OPENER_THREADS = 2


class NoDirectories(Exception):
    """There is no log directory left to serve."""


class BrokerRole:
    def __init__(
        self, config: BrokerConfig, dispatcher: Dispatcher, host: Host, on_failure: Callable[[Exception], None]
    ) -> None:
        """`on_failure` gets the error with which the node cannot continue."""
        self.config = config
        self.dispatcher = dispatcher
        self.dispatcher.request_budget.limit_bytes = config.get_int("queued.max.request.bytes")
        self._host = host
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks()
        self._openers = host.thread_pool(_OPENER_THREADS, "opener")
        self._configs = DynamicConfigs(config)
        self._peers = Peers(config.node_id, config.inter_broker_listener_name)
        self.socket_server = SocketServer(config.broker_listeners, config, dispatcher, self._tasks, host)
        self.maintenance: Maintenance
        self.replicas: ReplicaManager
        self.moves: DirectoryMoves
        self._storage: NodeStorage
        self._log: MetadataLog
        self._controller_role: ControllerRole | None
        self._metadata: ImageReader
        self._controller: FollowingController
        self._controller_versions: Callable[[], Mapping[int, tuple[int, int]] | None] = lambda: None
        self._lifecycle: BrokerLifecycle
        self._logs: LogManager
        self._groups: GroupCoordinator
        self._transactions: TransactionCoordinator
        self._cordoning: Cordoning
        self._volumes: Volumes
        self._full_disks: FullDisks
        self._directory_ids: Mapping[Path, bytes]
        self._absent_directory_ids: tuple[bytes, ...]
        self._journal: ChangeJournal
        self._sessions: FetchSessionCache
        self._in_sync: InSyncChanges
        self._directory_reports: DirectoryReports
        self._fetchers: ReplicaFetchers
        # Before the image shows the registration of this life, what it says about partitions is of a former one. If the
        # broker led then, it must not begin to lead again: it may have lost the end of its logs in a crash.
        self._has_partitions = False

    # -- start ------------------------------------------------------------------------------------------------------

    async def bind(self) -> None:
        """Binds the addresses; ListenFailed if one is busy."""
        await self.socket_server.start()

    async def open(
        self, storage: NodeStorage, log: MetadataLog, controller: Controller, controller_role: ControllerRole | None
    ) -> None:
        """Opens and recovers the logs; StorageError or DamagedFile if that fails.

        `controller` is the active one, wherever it runs; `controller_role` that of this node, if it has one.
        """
        if isinstance(controller, ActiveControllerFinder):
            self._controller_versions = lambda: controller.versions
        self._storage = storage
        self._log = log
        self._controller_role = controller_role
        self._metadata = log.reader()
        self._controller = FollowingController(controller, log, self._metadata)
        self._lifecycle = BrokerLifecycle(
            self.config.node_id,
            storage.cluster_id,
            controller,
            self._metadata,
            LifecycleSettings.of(self.config),
            on_aside=self.socket_server.turn_away,
        )
        image = self._metadata.image
        self._make_replicas(storage, controller, image)
        threads = self.config.get_int("num.recovery.threads.per.data.dir")

        def load() -> None:
            self._logs.load(
                lambda topic: self._configs.log_config(image, topic),
                recovery_threads=threads,
                now_ms=self._host.now_ms(),
            )

        await asyncio.to_thread(load)

    def _make_replicas(self, storage: NodeStorage, controller: Controller, image: ClusterImage) -> None:
        """The directories with their logs, still closed, and what keeps the partitions in them replicated."""
        self._absent_directory_ids = _absent_directory_ids(image, self.config.node_id, storage)
        self._logs = LogManager(
            storage.directories,
            offline=storage.offline_paths,
            absent_ids=self._absent_directory_ids,
            on_directory_failure=self._directory_failed,
            on_full=self._directory_full,
            host=self._host,
        )
        ids = dict(zip((directory.path for directory in storage.directories), storage.directory_ids, strict=True))
        self._directory_ids = ids
        self._volumes = Volumes(self._host)
        self._full_disks = FullDisks(
            self.config.node_id,
            self._volumes,
            image=lambda: self._metadata.image,
            online=lambda: [directory.path for directory in self._logs.online_directories],
            step_aside=self._lifecycle.step_aside,
        )
        self._cordoning = Cordoning(self._logs, ids, self._lifecycle.cordon)
        self._cordoning.apply(self._configs.current(image))
        self.replicas = ReplicaManager(
            self.config.node_id,
            self._logs,
            self._configs.log_config,
            self._host,
            directory_ids=ids,
            replica_lag_time_max_ms=self.config.get_int("replica.lag.time.max.ms"),
        )
        self.moves = DirectoryMoves(self.replicas)
        self._prepare_replication(controller)

    def _prepare_replication(self, controller: Controller) -> None:
        self._sessions = self._fetch_sessions()
        self._in_sync = InSyncChanges(
            self.replicas, self._sessions, controller, self._broker_epoch, self._tasks, self._host
        )
        self._directory_reports = DirectoryReports(
            self.replicas, controller, lambda: self._metadata.image, self._broker_epoch, self._tasks
        )
        self._fetchers = ReplicaFetchers(
            self.replicas,
            self._ask_leader,
            FetchSettings.of(self.config),
            self.config.get_int("num.replica.fetchers"),
            self._broker_epoch,
            self._host,
        )

    async def start(self) -> None:
        """Registers, and prepares everything for clients; BrokerRefused if the controller refuses the broker."""
        self.dispatcher.services = self._assemble(self.dispatcher, self._storage.cluster_id)
        self._journal = ChangeJournal(self._configs, self._metadata.image)
        self._peers.image_changed(self._metadata.image)
        self._metadata.start(self._image_changed, "broker")
        await self._lifecycle.register(
            incarnation_id=self._host.random_uuid(),
            listeners=self._advertised(),
            # Absent directories stay registered. Otherwise the next start would take the logs there for never created.
            log_dirs=sorted((*self._storage.directory_ids, *self._absent_directory_ids)),
            rack=self.config.rack,
            previous_broker_epoch=-1 if (epoch := self._logs.clean_shutdown_epoch) is None else epoch,
        )
        # From now on fetches can name the epoch of this life.
        self._fetchers.start(self._metadata.image)
        self._in_sync.start()
        self._directory_reports.start()
        self.replicas.subscribe(self._partitions_lost)
        self._lead_coordinators(self._metadata.image)
        self._groups.start()
        self._transactions.start()
        await self._groups.shards.all_read()
        await self._transactions.shards.all_read()
        self.maintenance.apply(self._configs.current(self._metadata.image))
        self.maintenance.start()
        self._tasks.start_periodic("retry of what a full disk refused", self._retry_refused, SPACE_RETRY_S)

    def serve(self) -> None:
        """Accepts connections from now on; ListenFailed if another process began to listen meanwhile."""
        self.socket_server.serve(self._configs.current(self._metadata.image))

    def _assemble(self, dispatcher: Dispatcher, cluster_id: str) -> Services:
        topic_creation = TopicCreation(self._controller, self._tasks)
        group_config = _group_config(self.config)
        offsets = self._store(offsets_topic_spec(group_config), topic_creation, "offsets.load.buffer.size")
        self._groups = GroupCoordinator(group_config, offsets, self._tasks, self._host)
        producer_ids = ProducerIds(self._lifecycle.allocate_producer_ids, self._tasks)
        transaction_config = _transaction_config(self.config)
        channel = TransactionChannel(
            self.config.node_id,
            self.config.inter_broker_listener_name,
            dispatcher,
            self._peers,
            transaction_config.request_timeout_ms,
        )
        transactions = self._store(
            transaction_topic_spec(transaction_config), topic_creation, "transaction.state.log.load.buffer.size"
        )
        self._transactions = TransactionCoordinator(
            transaction_config,
            transactions,
            MarkerWriter(self.config.node_id, channel, lambda: self._metadata.image, self._tasks),
            producer_ids,
            self._tasks,
            self._host,
            transaction_version=lambda: self._metadata.image.features.get(TRANSACTION_VERSION, 0),
        )
        self.maintenance = Maintenance(
            self._logs, self.config, self._tasks, self.replicas.announce_log_starts, self._host
        )
        return Services(
            cluster_id=cluster_id,
            config=self.config,
            served_versions={key: api.versions for key, api in dispatcher.apis.items()},
            host=self._host,
            tasks=self._tasks,
            metadata=self._cluster_metadata(topic_creation),
            dispatcher=dispatcher,
            replicas=self.replicas,
            moves=self.moves,
            volumes=self._volumes,
            data_path=DataPath(
                fetch_sessions=self._sessions,
                response_budget=dispatcher.response_budget,
                openers=self._openers,
            ),
            replication=Replication(self._fetchers, self._in_sync),
            coordinators=Coordinators(
                groups=self._groups,
                transactions=self._transactions,
                partition_adding=PartitionAdding(
                    self.config.node_id, transaction_config, transactions.topic, channel, self._tasks
                ),
                producer_ids=producer_ids,
            ),
        )

    def _cluster_metadata(self, topic_creation: TopicCreation) -> ClusterMetadata:
        return ClusterMetadata(
            log=self._log,
            followed=self._metadata,
            controller=self._controller,
            controller_role=self._controller_role,
            dead_brokers=None,
            topic_creation=topic_creation,
            dynamic_configs=self._configs,
            controller_versions=self._controller_versions,
        )

    def _store(
        self, spec: InternalTopicSpec, topic_creation: TopicCreation, load_buffer_setting: str
    ) -> CoordinatorStore:
        """Where a coordinator keeps its state on this broker."""
        topic = InternalTopic(spec, lambda: self._metadata.image, topic_creation.create_internal)
        log = PartitionCoordinatorLog(self.replicas, spec.name, self.config.get_int(load_buffer_setting))
        return CoordinatorStore(topic, log)

    def _fetch_sessions(self) -> FetchSessionCache:
        return FetchSessionCache(
            self.config.get_int("max.incremental.fetch.session.cache.slots"),
            FETCH_SESSION_EVICTION_MS,
            lambda: self._host.random_below(_INT32_MAX),
        )

    def _broker_epoch(self) -> int:
        return self._lifecycle.broker_epoch

    async def _ask_leader(self, leader_id: int, purpose: Purpose, request: Message) -> Message:
        timeout_s = self.config.get_int("replica.socket.timeout.ms") / 1000
        return await self._peers.send(leader_id, purpose, request, timeout_s=timeout_s)

    def _advertised(self) -> list[RegisteredListener]:
        ports = {acceptor.listener.name: acceptor.port for acceptor in self.socket_server}
        return [
            RegisteredListener(
                name=x.name,
                host=x.host,
                port=x.port or ports[x.name],
                security_protocol=x.security_protocol_id,
            )
            for x in self.config.advertised_listeners
        ]

    # -- while it runs ------------------------------------------------------------------------------------------------

    async def _image_changed(self, delta: ImageDelta, image: ClusterImage) -> None:
        self._peers.image_changed(image)
        if not self._has_partitions:
            if self._lifecycle.shows_registration(image):
                await self.replicas.apply_all(image)
                self._has_partitions = True
            return
        await self.replicas.apply(delta, image, lambda: self._partitions_changed(delta, image))
        self._partitions_changed(delta, image)
        self._fetchers.resize(self._configs.current(image).get_int("num.replica.fetchers"), image)
        self._journal.note(delta, image)
        if delta.deleted_topics:
            self._groups.topics_deleted(list(delta.deleted_topics.values()))
        self.socket_server.apply(self._configs.current(image))
        self.maintenance.apply(self._configs.current(image))
        self._cordoning.apply(self._configs.current(image))
        self._lifecycle.followed(image)

    def _partitions_changed(self, delta: ImageDelta, image: ClusterImage) -> None:
        """Follows and coordinates what the image says, as far as it is here.

        Called twice if new logs are created: those who were here before do not wait for them.
        """
        self._fetchers.apply(delta, image)
        for name, shards in self._coordinators():
            if name in delta.deleted_topics.values():
                shards.resign_all()
        self._lead_coordinators(image)

    def _coordinators(self) -> tuple[tuple[str, CoordinatorRuntime[Any, Any]], ...]:
        return (OFFSETS_TOPIC, self._groups.shards), (TRANSACTION_TOPIC, self._transactions.shards)

    def _lead_coordinators(self, image: ClusterImage) -> None:
        """Makes each coordinator serve the partitions that this broker leads, and no others."""
        for name, shards in self._coordinators():
            topic = image.topics.by_name(name)
            for index, state in () if topic is None else topic.partitions.items():
                if state.leader == self.config.node_id and self.replicas.is_online(name, index):
                    shards.become_leader(index, state.leader_epoch)
                else:
                    shards.resign(index)

    def _partitions_lost(self, lost: list[TopicPartition]) -> None:
        """A disk failed: coordinators stop serving its partitions, whose state cannot be changed any more."""
        for name, shards in self._coordinators():
            for topic, index in lost:
                if topic == name and not self.replicas.is_online(topic, index):
                    shards.resign(index)

    async def _retry_refused(self) -> None:
        await self._full_disks.look()
        self.replicas.sync_again()
        await self.replicas.retry_creation(
            lambda: self._metadata.image, lambda: self._lead_coordinators(self._metadata.image)
        )

    def _directory_full(self, path: Path) -> None:
        """May be called in any thread."""
        self._loop.call_soon_threadsafe(self._full_disks.note, path)

    def _directory_failed(self, directory: LogDirectory, lost: list[TopicPartition]) -> None:
        """May be called in any thread."""
        self._loop.call_soon_threadsafe(self.replicas.directory_failed, lost)
        self._loop.call_soon_threadsafe(self._lifecycle.directory_failed, self._directory_ids[directory.path])
        if not self._logs.online_directories:
            error = NoDirectories(f"Every log directory has failed, {directory.path} last")
            self._loop.call_soon_threadsafe(self._on_failure, error)

    # -- stop -------------------------------------------------------------------------------------------------------

    async def leave(self) -> None:
        """Asks the controller to move leaderships away, as far as other brokers can take them; serves meanwhile."""
        if self.config.get_bool("controlled.shutdown.enable"):
            await self._lifecycle.leave(self._log.until_undecidable())

    async def stop(self) -> None:
        """Stops serving clients, and stops the work in the background."""
        await self._lifecycle.stop()
        await self._fetchers.close()
        self._groups.close()
        self._transactions.close()
        await self.socket_server.stop()
        await self.maintenance.cancel()
        all_threads = self.replicas.threads.values()
        # The move of a log ends when its disks have done what they were asked.
        await wait_unless_hanging(asyncio.ensure_future(self._tasks.cancel_all()), all_threads, all_threads)
        await self._peers.close()
        await self._metadata.stop()

    async def abandon(self) -> None:
        """Releases what a failed start had acquired."""
        await self.socket_server.stop()
        self._openers.shutdown()
        self.dispatcher.close()

    async def close_directories(self) -> list[LogDirectory]:
        """Closes the logs so that the next start needs no recovery; returns the directories that did not answer."""
        all_threads = self.replicas.threads.values()

        def end_passes() -> None:
            self.maintenance.join()
            self.moves.stop()

        def close(directory: LogDirectory) -> None:
            self._logs.close(
                broker_epoch=self._lifecycle.broker_epoch,
                now_ms=self._host.now_ms(),
                threads_per_directory=self.config.get_int("num.recovery.threads.per.data.dir"),
                only=directory,
            )

        self.replicas.stop_syncing()
        # No client waits any more for batches that were still to be opened.
        self._openers.shutdown(cancel_futures=True)
        self.dispatcher.close()
        passes = asyncio.get_running_loop().run_in_executor(None, end_passes)
        await wait_unless_hanging(passes, all_threads, all_threads)
        return await close_directories(all_threads, close, self._host)


def _absent_directory_ids(image: ClusterImage, node_id: int, storage: NodeStorage) -> tuple[bytes, ...]:
    """The ids of directories with which this node was registered before, and which it does not have now.

    If it has none of them, its disks were replaced: it is blank, and fetches everything from the other replicas. The
    controller knows that it did not end cleanly, and trusts it with nothing until it has.
    """
    known = image.brokers.get(node_id)
    if known is None:
        return ()
    absent = tuple(one for one in known.log_dirs if one not in storage.directory_ids)
    if absent and len(absent) == len(known.log_dirs) and not storage.offline_paths:
        if any(node_id in state.replicas for topic in image.topics for state in topic.partitions.values()):
            logger.warning("None of the log directories that broker %d had is here: its logs are rebuilt", node_id)
        return ()
    return absent


def _group_config(config: BrokerConfig) -> GroupConfig:
    return GroupConfig(**{name: config.get_int(name.replace("_", ".")) for name in GroupConfig.__dataclass_fields__})


def _transaction_config(config: BrokerConfig) -> TransactionConfig:
    names = TransactionConfig.__dataclass_fields__
    return TransactionConfig(**{name: config.get_int(name.replace("_", ".")) for name in names})
