"""Partitions on a real log, of a broker that a test makes up."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.append_queue import AppendQueue
from ottla.replication.leader_state import InSyncProposal, Leadership
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.storage.append_validation import validate_client_batch
from ottla.storage.errors import StorageError
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import AppendInfo, Log
from ottla.storage.log_config import LogConfig
from ottla.storage.transaction_verification import VerificationGuard

ALONE = Leadership(leader_id=1, leader_epoch=0, replicas=(1,), in_sync=(1,), partition_epoch=0)
TRIO = Leadership(leader_id=1, leader_epoch=0, replicas=(1, 2, 3), in_sync=(1, 2, 3), partition_epoch=0)


@dataclass
class Broker:
    """What a partition needs of its broker."""

    broker_id: int = 1
    replica_lag_time_max_ms: int = 1000
    live_brokers: dict[int, int] = field(default_factory=lambda: {1: 11, 2: 12, 3: 13})
    now_ms: int = 0
    # Those that began a sync, as often as they did.
    syncing: list[Partition] = field(default_factory=list)
    proposals: list[InSyncProposal] = field(default_factory=list)
    # The followers whose fetches were to be answered, as often as they were.
    hurried: list[int] = field(default_factory=list)

    def monotonic_ms(self) -> int:
        return self.now_ms

    def disk_failed(self, error: StorageError) -> ApiError:
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def propose(self, partition: Partition, proposal: InSyncProposal) -> None:
        self.proposals.append(proposal)

    def caught_up_as_of(self, partition: Partition, replica_id: int) -> int | None:
        return None

    def hurry(self, replica_id: int) -> None:
        self.hurried.append(replica_id)

    def begin_sync(self, partition: Partition) -> None:
        self.syncing.append(partition)


def make(tmp_path: Path, leadership: Leadership, queue: AppendQueue | None = None, /, **settings: int) -> Partition:
    config = replace(LogConfig(), **settings)  # type: ignore[arg-type]
    log = Log(OsFileSystem(tmp_path), tmp_path / "orders-0", config, now_ms=0)
    return Partition("orders", 0, bytes(16), Broker(), log, leadership, queue)


def broker_of(partition: Partition) -> Broker:
    broker = partition._broker
    assert isinstance(broker, Broker)
    return broker


def batch_of_one() -> bytes:
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp_ms=1)
    return bytes(builder.build())


def at_once(outcome: object) -> AppendInfo:
    assert isinstance(outcome, AppendInfo)
    return outcome


def append(partition: Partition, acks: int = 1) -> AppendInfo:
    batch = batch_of_one()
    header = validate_client_batch(batch, partition.log.config)
    return at_once(partition.append(batch, acks=acks, now_ms=1, header=header))


def append_own(
    partition: Partition, batch: bytes, *, verification: VerificationGuard | None = None, transaction_version: int = 0
) -> AppendInfo:
    return at_once(
        partition.append(
            batch, acks=ACKS_ALL, now_ms=1, verification=verification, transaction_version=transaction_version
        )
    )


def fetch(partition: Partition, replica: int, offset: int) -> None:
    epoch = 10 + replica
    partition.follower_fetched(replica, offset, 0, partition.log.log_end_offset, epoch)


def to_follower(partition: Partition) -> None:
    """Another broker leads, and this one gives up what it has not in common with it."""
    epoch = partition.leader_epoch + 1
    partition.apply(replace(partition.leadership, leader_id=2, leader_epoch=epoch, partition_epoch=epoch))
    partition.log.truncate_to(0, 1)


def to_leader(partition: Partition, in_sync: tuple[int, ...] = (1, 2, 3)) -> None:
    epoch = partition.leader_epoch + 1
    leadership = replace(partition.leadership, leader_id=1, leader_epoch=epoch, in_sync=in_sync, partition_epoch=epoch)
    partition.apply(leadership)
