"""Partitions on two disks, of which one does not answer when a test says so."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from harness.stubborn_file_system import StubbornFileSystem
from ottla.broker.host import Machine
from ottla.broker.replica_manager import ReplicaManager
from ottla.metadata.image import ClusterImage
from ottla.protocol.batch_builder import BatchBuilder
from ottla.replication.append_queue import Appending
from ottla.replication.partition import Partition
from ottla.storage.append_validation import validate_client_batch
from ottla.storage.log import AppendInfo
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from unit.broker.coordinators.groups.fakes import NODE_ID, image_with

PATIENCE_S = 30.0
ID_OF_FIRST, ID_OF_SECOND = b"first directory ", b"second directory"


class TwoDisks:
    """Partition 0 of topic `t` is on the disk that can be told to hang, partition 1 on the other."""

    def __init__(self, home: Path) -> None:
        self.disk, self.other = (StubbornFileSystem(home / name) for name in ("a", "b"))
        self.logs = LogManager([LogDirectory(self.disk), LogDirectory(self.other)])
        self.config = LogConfig()
        self.topics_without_config: set[str] = set()
        self.made_topics: list[str] = []
        ids = {self.disk.root: ID_OF_FIRST, self.other.root: ID_OF_SECOND}
        self.replicas = ReplicaManager(NODE_ID, self.logs, self._config_of, Machine(), directory_ids=ids)

    def _config_of(self, _image: ClusterImage, topic: str) -> LogConfig:
        self.made_topics.append(topic)
        if topic in self.topics_without_config:
            raise RuntimeError(f"{topic} has no config")
        return self.config

    @property
    def partition(self) -> Partition:
        return self.replicas.partition("t", 0)

    def append(self, partition: Partition) -> Appending[AppendInfo]:
        builder = BatchBuilder()
        builder.append(b"k", b"v", timestamp_ms=1)
        batch = bytes(builder.build())
        header = validate_client_batch(batch, partition.log.config)
        outcome = partition.append(batch, acks=-1, now_ms=1, header=header)
        assert not isinstance(outcome, AppendInfo), "there is a queue"
        return outcome


def run(home: Path, scenario: Callable[[TwoDisks], Coroutine[Any, Any, None]]) -> None:
    async def with_disks() -> None:
        disks = TwoDisks(home)
        await disks.replicas.apply_all(image_with(offsets_partitions=0))
        assert disks.partition.log.directory.parent == disks.disk.root
        try:
            await scenario(disks)
        finally:
            disks.disk.wake_up()
            for threads in disks.replicas.threads.values():
                await asyncio.to_thread(threads.stop)
                threads.directory.take_offline()

    asyncio.run(with_disks())


async def outcome(append: Appending[AppendInfo], seconds: float = PATIENCE_S) -> AppendInfo:
    return await append.result(asyncio.get_running_loop().time() + seconds)
