"""The coordinator's log on a node with two disks: its appends wait for their turn, and may fail after all."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from harness.stubborn_file_system import StubbornFileSystem
from ottla.broker.coordinators.log import AppendLost
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.groups.offsets_topic import OFFSETS_TOPIC
from ottla.broker.host import Machine
from ottla.broker.replica_manager import ReplicaManager
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import Partition
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from unit.broker.groups.fakes import NODE_ID, image_with

LOAD_BUFFER_BYTES = 1024 * 1024
COMMIT_TIMEOUT_MS = 50


def batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(b"k", value, timestamp_ms=1)
    return bytes(builder.build())


class TwoDisks:
    def __init__(self, home: Path) -> None:
        self._disks = {home / name: StubbornFileSystem(home / name) for name in ("a", "b")}
        logs = LogManager([LogDirectory(disk) for disk in self._disks.values()])
        self.replicas = ReplicaManager(NODE_ID, logs, lambda _image, _topic: LogConfig(), Machine())
        self.log = PartitionCoordinatorLog(self.replicas, OFFSETS_TOPIC, COMMIT_TIMEOUT_MS, LOAD_BUFFER_BYTES)

    @property
    def disk(self) -> StubbornFileSystem:
        """The one with the offsets topic."""
        return self._disks[self._partition.log.directory.parent]

    @property
    def end_offset(self) -> int:
        return self._partition.log.log_end_offset

    @property
    def _partition(self) -> Partition:
        return self.replicas.partition(OFFSETS_TOPIC, 0)

    def wake_up(self) -> None:
        for disk in self._disks.values():
            disk.wake_up()


def run(home: Path, scenario: Callable[[TwoDisks], Coroutine[Any, Any, None]]) -> None:
    async def with_disks() -> None:
        disks = TwoDisks(home)
        await disks.replicas.apply_all(image_with())
        try:
            await scenario(disks)
        finally:
            disks.wake_up()
            for threads in disks.replicas.threads.values():
                await asyncio.to_thread(threads.stop)
                threads.directory.take_offline()

    asyncio.run(with_disks())


def test_an_append_gets_a_number_at_once_and_is_committed_when_the_disk_answers(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        disks.disk.takes_appends.clear()
        numbers = [disks.log.append(0, batch(b"%d" % number)) for number in range(3)]
        assert numbers == sorted(set(numbers))
        assert not disks.log.is_committed(0, numbers[0])
        with pytest.raises(ApiError) as refused:
            await disks.log.wait_committed(0, numbers[0])
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
        disks.disk.wake_up()
        await disks.log.settled(0)
        for number in (numbers[2], numbers[0]):
            await disks.log.wait_committed(0, number)
        assert disks.end_offset == 3

    run(tmp_path, scenario)


def test_all_that_was_put_before_a_failure_was_known_counts_as_lost_and_nothing_after_it(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        written = disks.log.append(0, batch(b"written"))
        await disks.log.wait_committed(0, written)
        disks.disk.is_full = True
        failed = disks.log.append(0, batch(b"failed"))
        await disks.log.settled(0)
        disks.disk.is_full = False
        after = disks.log.append(0, batch(b"after"))
        await disks.log.settled(0)
        # The shard that counted on the one counts on the other as well: it is loaded again with what there is.
        for number in (after, failed, written):
            with pytest.raises(AppendLost) as lost:
                await disks.log.wait_committed(0, number)
            assert lost.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert disks.end_offset == 2
        await disks.log.wait_committed(0, disks.log.append(0, batch(b"again")))

    run(tmp_path, scenario)


def test_a_partition_whose_disk_failed_says_so_to_those_that_wait_and_those_that_come(tmp_path: Path) -> None:
    async def scenario(disks: TwoDisks) -> None:
        disks.disk.is_broken = True
        number = disks.log.append(0, batch(b"v"))
        with pytest.raises(AppendLost) as lost:
            await disks.log.wait_committed(0, number)
        assert lost.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(ApiError) as refused:
            disks.log.append(0, batch(b"v"))
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR

    run(tmp_path, scenario)


def test_a_batch_that_its_producer_may_not_write_fails_alone_and_before_what_comes_after_it(tmp_path: Path) -> None:
    def of_producer(epoch: int) -> bytes:
        return bytes(
            end_txn_batch(producer_id=1, producer_epoch=epoch, is_commit=True, coordinator_epoch=0, timestamp_ms=1)
        )

    async def scenario(disks: TwoDisks) -> None:
        refused: list[int] = []
        before = disks.log.append_of_producer(0, of_producer(5), refused.append)
        fenced = disks.log.append_of_producer(0, of_producer(4), refused.append)
        after = disks.log.append(0, batch(b"after"))
        await disks.log.wait_committed(0, after)
        assert refused == [fenced]
        with pytest.raises(ApiError) as error:
            await disks.log.wait_committed(0, fenced)
        assert error.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
        assert not isinstance(error.value, AppendLost)
        await disks.log.wait_committed(0, before)
        assert disks.end_offset == 2

    run(tmp_path, scenario)
