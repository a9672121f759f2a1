"""Decisions about transactional ids on a disk that is full, or hangs."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from harness.waiting import eventually_async
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.broker.coordinators.transactions import shard_driver
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.coordinators.transactions.markers import MarkerWriter
from ottla.broker.coordinators.transactions.shard_driver import TransactionShardDriver
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.topic_partition import TopicPartition
from unit.broker.coordinators.groups.disk_node import LOAD_BUFFER_BYTES, DiskNode


def unexpected() -> None:
    raise AssertionError("the shard does not have to be loaded again")


def begin(shard: TransactionShard, transactional_id: str, producer_id: int) -> TransactionMetadata:
    return shard.init_producer_id(
        transactional_id,
        timeout_ms=1000,
        expected=None,
        fresh_producer_id=producer_id,
        transaction_version=2,
        now_ms=1,
    )


@pytest.mark.parametrize("directories", [["a"], ["a", "b"]])
def test_a_state_that_a_full_disk_refuses_is_forgotten_and_the_shard_serves_on(
    tmp_path: Path, directories: list[str]
) -> None:
    async def scenario() -> None:
        node = DiskNode([tmp_path / name for name in directories])
        await node.replicas.apply_all(node.image)
        # Any partition will do: with two directories its appends wait in a queue, and are refused later.
        log = PartitionCoordinatorLog(node.replicas, OFFSETS_TOPIC, LOAD_BUFFER_BYTES)
        writes = ShardWrites(log, OFFSETS_TOPIC, 0, 0, node.tasks, 60_000, unexpected)
        no_markers = cast(MarkerWriter, None)
        driver = TransactionShardDriver(TransactionShard(), writes, no_markers, node.tasks, lambda: 1, lambda: 2)

        try:
            for disk in node.disks:
                disk.is_full = True
            for producer_id in (1, 2):
                with pytest.raises(ApiError) as refused:
                    await driver.write((begin(driver.shard, "tx", producer_id),))
                assert refused.value.code is ErrorCode.NOT_COORDINATOR
                assert driver.shard.get("tx") is None
            for disk in node.disks:
                disk.is_full = False
            await driver.write((begin(driver.shard, "tx", 3),))
            known = driver.shard.get("tx")
            assert known is not None
            assert known.producer_id == 3
        finally:
            await node.stop()

    asyncio.run(scenario())


def test_a_decided_transaction_completes_though_a_disk_hung_and_then_refused_the_record_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_driver, "_RETRY_PAUSE_S", 0.001)

    async def scenario() -> None:
        node = DiskNode([tmp_path / "a", tmp_path / "b"])
        await node.replicas.apply_all(node.image)
        disk = next(disk for disk in node.disks if disk.root == node.partition.log.directory.parent)
        disk.is_asked.clear()
        disk.takes_appends.clear()
        shard = TransactionShard()
        # The partition of the transaction is deleted: it needs no marker.
        of_deleted_topic = frozenset({TopicPartition("deleted", 0)})
        prepared = TransactionMetadata("tx", 3, 0, 1000, TransactionState.PREPARE_COMMIT, of_deleted_topic, 1, 1)
        shard.replay("tx", prepared)
        log = PartitionCoordinatorLog(node.replicas, OFFSETS_TOPIC, LOAD_BUFFER_BYTES)
        writes = ShardWrites(log, OFFSETS_TOPIC, 0, 0, node.tasks, 1, unexpected)
        markers = MarkerWriter(7, cast(TransactionChannel, None), lambda: node.image, node.tasks)
        driver = TransactionShardDriver(shard, writes, markers, node.tasks, lambda: 1, lambda: 2)
        try:
            await asyncio.to_thread(disk.is_asked.wait)
            # Whoever writes after the completion hears that it takes too long: so could the completion.
            with pytest.raises(ApiError) as too_late:
                await driver.write((begin(shard, "other", 4),))
            assert too_late.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            completion = driver.completion("tx")
            assert completion is not None, "nobody else completes it"

            async def is_refused() -> bool:
                return not shard.is_pending("other")

            disk.is_full = True
            disk.wake_up()
            await eventually_async(is_refused)
            disk.is_full = False
            await completion
            known = shard.get("tx")
            assert known is not None
            assert known.state is TransactionState.COMPLETE_COMMIT
        finally:
            await node.stop()

    asyncio.run(scenario())


def test_a_decided_transaction_completes_after_an_error_that_nobody_has_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_driver, "_RETRY_PAUSE_S", 0.001)
    failures = [RuntimeError("nobody has foreseen this")]

    def clock() -> int:
        if failures:
            raise failures.pop()
        return 1

    async def scenario() -> None:
        node = DiskNode([tmp_path / "a"])
        await node.replicas.apply_all(node.image)
        shard = TransactionShard()
        of_deleted_topic = frozenset({TopicPartition("deleted", 0)})
        prepared = TransactionMetadata("tx", 3, 0, 1000, TransactionState.PREPARE_COMMIT, of_deleted_topic, 1, 1)
        shard.replay("tx", prepared)
        log = PartitionCoordinatorLog(node.replicas, OFFSETS_TOPIC, LOAD_BUFFER_BYTES)
        writes = ShardWrites(log, OFFSETS_TOPIC, 0, 0, node.tasks, 60_000, unexpected)
        markers = MarkerWriter(7, cast(TransactionChannel, None), lambda: node.image, node.tasks)
        driver = TransactionShardDriver(shard, writes, markers, node.tasks, clock, lambda: 2)
        try:
            completion = driver.completion("tx")
            assert completion is not None
            await completion
            known = shard.get("tx")
            assert known is not None
            assert known.state is TransactionState.COMPLETE_COMMIT
        finally:
            await node.stop()

    asyncio.run(scenario())
