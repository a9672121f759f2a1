"""Writes of a shard: when they take effect, what becomes of those that fail, and of whoever waits."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from harness.waiting import eventually_async
from ottla.broker.coordinators.internal_topic import OFFSETS_TOPIC
from ottla.broker.coordinators.partition_log import PartitionCoordinatorLog
from ottla.broker.coordinators.shard_writes import ShardWrites, Write
from ottla.broker.disks.directory_moves import DirectoryMoves
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from unit.broker.coordinators.groups.disk_node import LOAD_BUFFER_BYTES, DiskNode
from unit.broker.coordinators.one_of_two import OneOfTwo
from unit.replication.partitions import batch_of_one

COMMIT_TIMEOUT_MS = 60_000


class Shard:
    """The writes of a shard on a node with one disk, or with two: then appends wait for their turn."""

    def __init__(self, node: DiskNode, commit_timeout_ms: int = COMMIT_TIMEOUT_MS) -> None:
        self.node = node
        self.committed: list[int] = []
        self.refused: list[int] = []
        self.lost = 0
        log = PartitionCoordinatorLog(node.replicas, OFFSETS_TOPIC, LOAD_BUFFER_BYTES)
        self.writes = ShardWrites(log, OFFSETS_TOPIC, 0, 0, node.tasks, commit_timeout_ms, self._note_lost)

    def _note_lost(self) -> None:
        self.lost += 1
        self.writes.close()

    @property
    def disk(self) -> Any:
        return next(disk for disk in self.node.disks if disk.root == self.node.partition.log.directory.parent)

    def write(self, batch: bytes | None = None, *, can_be_taken_back: bool = False) -> Write:
        on_refused = self.refused.append if can_be_taken_back else None
        write = self.writes.append(batch or batch_of_one(), self.committed.append, on_refused=on_refused)
        self.writes.commit_ready()
        return write


def run(home: Path, scenario: Callable[[DiskNode], Coroutine[Any, Any, None]], disks: int = 2) -> None:
    async def with_node() -> None:
        node = DiskNode([home / name for name in "ab"[:disks]])
        await node.replicas.apply_all(node.image)
        try:
            await scenario(node)
        finally:
            await node.stop()

    asyncio.run(with_node())


async def error_of(shard: Shard, write: Write) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        await shard.writes.wait(write)
    return refused.value.code


def test_what_commits_at_once_takes_effect_at_once(tmp_path: Path) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        write = shard.write()
        assert write.is_committed
        assert shard.committed == [0]
        await shard.writes.wait(write)

    run(tmp_path, scenario, disks=1)


def test_what_waits_for_its_disk_takes_effect_in_order_when_the_disk_answers(tmp_path: Path) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node, commit_timeout_ms=1)
        shard.disk.takes_appends.clear()
        writes = [shard.write() for _ in range(3)]
        assert [write.number for write in writes] == [0, 1, 2]
        assert await error_of(shard, writes[2]) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert shard.committed == []
        patient = Shard(node)
        shard.disk.wake_up()
        await patient.writes.wait(patient.write())
        await writes[2].wait()
        assert shard.committed == [0, 1, 2], "nobody waited any more"

    run(tmp_path, scenario)


def test_all_that_is_not_committed_is_lost_with_one_that_failed(tmp_path: Path) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        written = shard.write()
        await shard.writes.wait(written)
        shard.disk.is_full = True
        failed = shard.write()
        after = shard.write()
        for write in (after, failed):
            assert await error_of(shard, write) is ErrorCode.NOT_COORDINATOR
        assert (shard.lost, shard.committed) == (1, [0])
        with pytest.raises(ApiError):
            shard.write()

    run(tmp_path, scenario)


def test_a_batch_that_its_producer_may_not_write_fails_alone_and_before_what_comes_after_it(tmp_path: Path) -> None:
    def of_producer(epoch: int) -> bytes:
        return bytes(
            end_txn_batch(producer_id=1, producer_epoch=epoch, is_commit=True, coordinator_epoch=0, timestamp_ms=1)
        )

    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        shard.write(of_producer(5), can_be_taken_back=True)
        fenced = shard.write(of_producer(4), can_be_taken_back=True)
        after = shard.write()
        await shard.writes.wait(after)
        assert (shard.refused, shard.committed) == ([fenced.number], [0, 2])
        assert await error_of(shard, fenced) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert shard.lost == 0

    run(tmp_path, scenario)


def test_what_a_full_disk_refused_and_the_shard_can_take_back_fails_alone(tmp_path: Path) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        shard.disk.is_full = True
        refused = [shard.write(can_be_taken_back=True) for _ in range(2)]
        for write in refused:
            assert await error_of(shard, write) is ErrorCode.NOT_COORDINATOR
        shard.disk.is_full = False
        await shard.writes.wait(shard.write())
        assert (shard.refused, shard.committed, shard.lost) == ([0, 1], [2], 0)

    run(tmp_path, scenario)


def test_a_shard_that_was_closed_never_answers_success(tmp_path: Path) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        shard.disk.takes_appends.clear()
        write = shard.write()
        waiting = asyncio.ensure_future(shard.writes.wait(write))
        await asyncio.sleep(0)
        shard.writes.close()
        shard.disk.wake_up()
        with pytest.raises(ApiError) as refused:
            await waiting
        assert refused.value.code is ErrorCode.NOT_COORDINATOR
        assert await error_of(shard, write) is ErrorCode.NOT_COORDINATOR
        successor = Shard(node)
        await successor.writes.wait(successor.write())
        assert node.partition.log.log_end_offset == 2, "the record is there, and counts for whoever reads the log"
        assert shard.committed == []

    run(tmp_path, scenario)


def test_a_client_that_goes_away_takes_nothing_with_it(tmp_path: Path) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        shard.disk.takes_appends.clear()
        write = shard.write()
        waiting = asyncio.ensure_future(shard.writes.wait(write))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        shard.disk.wake_up()
        await shard.writes.wait(write)
        assert shard.committed == [0]

    run(tmp_path, scenario)


def test_what_the_next_leader_cut_off_neither_takes_effect_nor_has_the_shard_loaded_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = OneOfTwo(tmp_path)
        await node.replicas.apply_all(node.image)
        node.lead(0)
        shard = Shard(node)
        write = shard.write()
        assert not write.is_committed
        node.follow(1)
        node.lead(2, in_sync=(7,))
        node.append(2)
        assert node.partition.log.high_watermark == 1, "another record stands there, and is committed"
        assert await error_of(shard, write) is ErrorCode.NOT_COORDINATOR
        assert (shard.committed, shard.lost) == ([], 0)
        await node.stop()

    asyncio.run(scenario())


def test_a_write_that_fails_when_it_takes_effect_does_not_hold_up_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)

        def fail(_number: int) -> None:
            raise KeyError("a bug")

        bad = shard.writes.append(batch_of_one(), fail)
        shard.writes.commit_ready()
        good = shard.write()
        assert await error_of(shard, bad) is ErrorCode.UNKNOWN_SERVER_ERROR
        await shard.writes.wait(good)

    run(tmp_path, scenario)
    assert "KeyError: 'a bug'" in caplog.text


@pytest.mark.parametrize("can_be_taken_back", [True, False])
def test_what_a_full_disk_refuses_while_the_log_moves_is_taken_back_or_the_shard_is_loaded_again(
    tmp_path: Path, *, can_be_taken_back: bool
) -> None:
    async def scenario(node: DiskNode) -> None:
        shard = Shard(node)
        await shard.writes.wait(shard.write())
        disk = shard.disk
        target = next(directory for directory in node.replicas.logs.online_directories if directory.path != disk.root)
        moves = DirectoryMoves(node.replicas)
        move = moves.move(OFFSETS_TOPIC, 0, target)
        assert move is not None
        disk.takes_appends.clear()
        write = shard.write(can_be_taken_back=can_be_taken_back)
        moving = asyncio.ensure_future(move)

        async def is_suspended() -> bool:
            return node.replicas.is_suspended(OFFSETS_TOPIC, 0)

        # The swap waits for the disk, as the write does.
        await eventually_async(is_suspended)
        disk.is_full = True
        disk.wake_up()
        assert await error_of(shard, write) is ErrorCode.NOT_COORDINATOR
        await moving
        moves.stop()
        assert node.partition.log.log_end_offset == 1, "the record is nowhere"
        assert (shard.refused, shard.lost) == (([1], 0) if can_be_taken_back else ([], 1))

    run(tmp_path, scenario)
