"""A node that leads its partition of the offsets topic together with another broker."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.storage.log import AppendInfo
from unit.broker.coordinators.groups.disk_node import LOAD_BUFFER_BYTES, DiskNode
from unit.replication.partitions import batch_of_one

REPLICAS = (7, 8)


class OneOfTwo(DiskNode):
    """Leads its partition together with a broker that fetches when a test says so."""

    def __init__(self, home: Path, directories: Sequence[str] = ("a",)) -> None:
        super().__init__([home / name for name in directories])
        self.log = PartitionCoordinatorLog(self.replicas, OFFSETS_TOPIC, LOAD_BUFFER_BYTES)

    def lead(self, leader_epoch: int, in_sync: tuple[int, ...] = REPLICAS) -> None:
        self._apply(7, leader_epoch, in_sync)

    def follow(self, leader_epoch: int) -> None:
        self._apply(8, leader_epoch, REPLICAS)
        self.partition.log.truncate_to(0, 1)

    def _apply(self, leader_id: int, leader_epoch: int, in_sync: tuple[int, ...]) -> None:
        leadership = self.partition.leadership
        self.partition.apply(
            replace(
                leadership,
                leader_id=leader_id,
                leader_epoch=leader_epoch,
                replicas=REPLICAS,
                in_sync=in_sync,
                partition_epoch=leadership.partition_epoch + 1,
            )
        )

    def fetch(self, offset: int) -> None:
        self.partition.follower_fetched(8, offset, 0, leader_end_offset=offset, broker_epoch=1)

    def append(self, leader_epoch: int) -> AppendInfo:
        outcome = self.log.append(0, batch_of_one(), leader_epoch=leader_epoch)
        assert isinstance(outcome, AppendInfo)
        return outcome
