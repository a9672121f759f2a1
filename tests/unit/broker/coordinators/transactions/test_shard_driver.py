"""Decisions about transactional ids on a disk that is full."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.broker.coordinators.transactions.markers import MarkerWriter
from ottla.broker.coordinators.transactions.shard_driver import TransactionShardDriver
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.protocol.errors import ApiError, ErrorCode
from unit.broker.coordinators.groups.disk_node import LOAD_BUFFER_BYTES, DiskNode


def unexpected() -> None:
    raise AssertionError("the shard does not have to be loaded again")


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

        def begin(producer_id: int) -> TransactionMetadata:
            return driver.shard.init_producer_id(
                "tx", timeout_ms=1000, expected=None, fresh_producer_id=producer_id, transaction_version=2, now_ms=1
            )

        try:
            for disk in node.disks:
                disk.is_full = True
            for producer_id in (1, 2):
                with pytest.raises(ApiError) as refused:
                    await driver.write((begin(producer_id),))
                assert refused.value.code is ErrorCode.NOT_COORDINATOR
                assert driver.shard.get("tx") is None
            for disk in node.disks:
                disk.is_full = False
            await driver.write((begin(3),))
            known = driver.shard.get("tx")
            assert known is not None
            assert known.producer_id == 3
        finally:
            await node.stop()

    asyncio.run(scenario())
