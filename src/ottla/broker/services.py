"""Everything a handler may reach: the assembled broker, without its sockets."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import Controller
from ottla.broker.controller.role import ControllerRole
from ottla.broker.coordinators.groups import GroupCoordinator
from ottla.broker.coordinators.transactions.coordinator import TransactionCoordinator
from ottla.broker.coordinators.transactions.partition_adding import PartitionAdding
from ottla.broker.disks.volumes import Volumes
from ottla.broker.host import Host
from ottla.broker.network.response_budget import ResponseBudget
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.quorum import ImageReader, MetadataLog
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.tasks import Tasks
from ottla.broker.topic_creation import TopicCreation
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.image import ClusterImage
from ottla.replication.fetch_session import FetchSessionCache


@dataclass(slots=True)
class Services:
    """The parts of a broker that answer requests."""

    cluster_id: str
    config: BrokerConfig
    host: Host
    dynamic_configs: DynamicConfigs
    metadata_log: MetadataLog
    # What this broker has followed of the metadata.
    metadata: ImageReader
    # Whom to ask for changes; answers when the broker's own image has them.
    controller: Controller
    # The controller role of this node, None if it has none.
    controller_role: ControllerRole | None
    replicas: ReplicaManager
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    topic_creation: TopicCreation
    partition_adding: PartitionAdding
    producer_ids: ProducerIds
    fetch_sessions: FetchSessionCache
    response_budget: ResponseBudget
    tasks: Tasks
    volumes: Volumes
    # For batches that have to be opened: threads of their own, so that a flood of them keeps nobody from the disks.
    openers: Executor
    # API key -> versions, as ApiVersions tells them.
    served_versions: dict[int, range]

    @property
    def image(self) -> ClusterImage:
        """The newest metadata that this broker has followed."""
        return self.metadata.image
