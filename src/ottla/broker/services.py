"""Everything that a handler may reach: the assembled node, without its sockets.

The parts have names, so that a handler shows what it depends on: the metadata, and on a listener of brokers the
partitions of this broker, the path that records take, the coordinators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import Controller
from ottla.broker.controller.dead_brokers import DeadBrokers
from ottla.broker.controller.role import ControllerRole
from ottla.broker.coordinators.groups import GroupCoordinator
from ottla.broker.coordinators.transactions.coordinator import TransactionCoordinator
from ottla.broker.coordinators.transactions.partition_adding import PartitionAdding
from ottla.broker.disks.directory_moves import DirectoryMoves
from ottla.broker.disks.volumes import Volumes
from ottla.broker.host import Host
from ottla.broker.in_sync_changes import InSyncChanges
from ottla.broker.network.response_budget import ResponseBudget
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.quorum import ImageReader, MetadataLog
from ottla.broker.replica_fetching.fetchers import ReplicaFetchers
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.dispatch import Dispatcher
from ottla.broker.tasks import Tasks
from ottla.broker.topic_creation import TopicCreation
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.image import ClusterImage
from ottla.replication.fetch_session import FetchSessionCache


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The metadata of the cluster: the log, what this role of the node has followed of it, and who changes it."""

    log: MetadataLog
    followed: ImageReader
    # Takes requests for changes; a broker's answers when the broker's own image has them.
    controller: Controller
    # The controller role of this node, None if it has none.
    controller_role: ControllerRole | None
    # Notices dead brokers; None on a listener of brokers, and where it is switched off.
    dead_brokers: DeadBrokers | None
    topic_creation: TopicCreation
    dynamic_configs: DynamicConfigs
    # The versions of each API that a controller on another node serves; None if there is none, or it was never asked.
    controller_versions: Callable[[], Mapping[int, tuple[int, int]] | None] = lambda: None


@dataclass(frozen=True, slots=True)
class DataPath:
    """What Produce and Fetch use beside the partitions themselves."""

    fetch_sessions: FetchSessionCache
    # How many bytes of answers may wait for clients that do not read them.
    response_budget: ResponseBudget
    # Threads for batches that have to be opened. They are apart, so that a flood of such batches blocks no disk.
    openers: Executor


@dataclass(frozen=True, slots=True)
class Replication:
    """What keeps the replicas of this broker, and those that it leads, in sync."""

    fetchers: ReplicaFetchers
    in_sync: InSyncChanges


@dataclass(frozen=True, slots=True)
class Coordinators:
    """Groups and transactions."""

    groups: GroupCoordinator
    transactions: TransactionCoordinator
    # How this broker, as the leader of partitions, reaches the coordinator of a transaction.
    partition_adding: PartitionAdding
    producer_ids: ProducerIds


@dataclass(frozen=True, slots=True)
class NodeServices:
    """What answers requests on either kind of listener; all that there is on one of controllers."""

    cluster_id: str
    config: BrokerConfig
    # API key -> versions, as ApiVersions tells them.
    served_versions: dict[int, range]
    host: Host
    tasks: Tasks
    metadata: ClusterMetadata
    # Answers requests that come inside others.
    dispatcher: Dispatcher

    @property
    def image(self) -> ClusterImage:
        """The newest metadata that this role of the node has followed."""
        return self.metadata.followed.image


@dataclass(frozen=True, slots=True)
class Services(NodeServices):
    """The parts of a broker that answer requests."""

    replicas: ReplicaManager
    moves: DirectoryMoves
    volumes: Volumes
    data_path: DataPath
    replication: Replication
    coordinators: Coordinators
