"""A group coordinator over real logs in one directory, or in two: then appends wait in a queue for their disk."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from harness.stubborn_file_system import StubbornFileSystem
from ottla.broker.coordinators.groups import GroupConfig, GroupCoordinator
from ottla.broker.coordinators.internal_topic import (
    OFFSETS_TOPIC,
    CoordinatorStore,
    InternalTopic,
    InternalTopicSpec,
    offsets_topic_spec,
)
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.transactions.partition_adding import PartitionAdding, TransactionSupport
from ottla.broker.host import Machine
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.services import Services
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError
from ottla.replication.partition import Partition
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from unit.broker.coordinators.groups.fakes import NODE_ID, image_with

LOAD_BUFFER_BYTES = 4096


class AgreeingCoordinator(PartitionAdding):
    """Stands in for the coordinators of transactions: agrees, unless told otherwise, and keeps what it was asked."""

    def __init__(self) -> None:
        self.questions: list[tuple[str, int, int, TransactionSupport]] = []
        self.error: ApiError | None = None
        # Happens between the question and the answer.
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[tuple[str, int]],
        support: TransactionSupport,
    ) -> dict[tuple[str, int], ApiError]:
        self.questions.append((transactional_id, producer_id, producer_epoch, support))
        if self.meanwhile is not None:
            await self.meanwhile()
        return {} if self.error is None else dict.fromkeys(partitions, self.error)


class DiskNode:
    def __init__(self, directories: list[Path], image: ClusterImage | None = None) -> None:
        self.image = image or image_with()
        self.disks = [StubbornFileSystem(path) for path in directories]
        logs = LogManager([LogDirectory(disk) for disk in self.disks])
        self.replicas = ReplicaManager(
            NODE_ID, logs, lambda _image, _topic: LogConfig(transaction_verification_enabled=True), Machine()
        )
        self.tasks = Tasks()
        self.coordinator = AgreeingCoordinator()
        config = GroupConfig()
        log = PartitionCoordinatorLog(self.replicas, OFFSETS_TOPIC, LOAD_BUFFER_BYTES)
        topic = InternalTopic(offsets_topic_spec(config), lambda: self.image, self._create)
        self.groups = GroupCoordinator(config, CoordinatorStore(topic, log), self.tasks, Machine())

    @property
    def partition(self) -> Partition:
        """The one of the offsets topic."""
        return self.replicas.partition(OFFSETS_TOPIC, 0)

    def services(self) -> Services:
        """What a handler sees of the node."""
        return cast(
            Services,
            SimpleNamespace(
                coordinators=SimpleNamespace(groups=self.groups, partition_adding=self.coordinator),
                host=self.replicas.host,
                replicas=self.replicas,
                image=self.image,
                config=BrokerConfig({"node.id": str(NODE_ID)}),
            ),
        )

    async def start(self) -> "DiskNode":
        await self.replicas.apply_all(self.image)
        self.groups.shards.become_leader(0, 0)
        await self.groups.shards.loaded()
        return self

    async def stop(self) -> None:
        """Leaves the directories as a crash would."""
        for disk in self.disks:
            disk.wake_up()
        self.groups.close()
        await self.tasks.cancel_all()
        for threads in self.replicas.threads.values():
            await asyncio.to_thread(threads.stop)
            threads.directory.take_offline()

    async def _create(self, spec: InternalTopicSpec) -> None:
        raise AssertionError(f"{spec.name} is there already")
