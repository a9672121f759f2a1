"""A coordinator's partition, asked in the leader epoch in which its shard was loaded."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.errors import DiskFull
from unit.broker.coordinators.one_of_two import OneOfTwo
from unit.replication.partitions import batch_of_one


def run(home: Path, scenario: Callable[[OneOfTwo], Coroutine[Any, Any, None]]) -> None:
    async def with_node() -> None:
        node = OneOfTwo(home)
        await node.start()
        try:
            await scenario(node)
        finally:
            await node.stop()

    asyncio.run(with_node())


def test_a_shard_of_an_epoch_that_is_over_cannot_write_though_this_node_leads_again(tmp_path: Path) -> None:
    async def scenario(node: OneOfTwo) -> None:
        node.lead(1)
        node.append(1)
        node.follow(2)
        node.lead(3)
        with pytest.raises(ApiError) as refused:
            node.append(1)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert not await node.log.is_still_led(0, 1)
        assert await node.log.is_still_led(0, 3)

    run(tmp_path, scenario)


def test_what_was_cut_off_is_not_committed_by_what_stands_there_now(tmp_path: Path) -> None:
    async def scenario(node: OneOfTwo) -> None:
        node.lead(1)
        lost = node.append(1)
        waiting = asyncio.ensure_future(node.log.wait_committed(0, lost))
        await asyncio.sleep(0)
        node.follow(2)
        node.lead(3, in_sync=(7,))
        now = node.append(3)
        assert now.last_offset == lost.last_offset
        assert node.log.is_committed(0, now)
        assert not node.log.is_committed(0, lost)
        for late in (waiting, node.log.wait_committed(0, lost)):
            with pytest.raises(ApiError) as refused:
                await late
            assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(tmp_path, scenario)


def test_all_is_committed_when_the_watermark_has_passed_what_the_log_holds(tmp_path: Path) -> None:
    async def scenario(node: OneOfTwo) -> None:
        node.lead(1)
        node.append(1)
        node.append(1)
        waiting = asyncio.ensure_future(node.log.wait_all_committed(0, 1))
        node.fetch(1)
        await asyncio.sleep(0)
        assert not waiting.done()
        node.fetch(2)
        await waiting

    run(tmp_path, scenario)


def test_on_a_full_disk_a_write_waits_for_its_sync_and_a_load_hears_of_it(tmp_path: Path) -> None:
    async def scenario(node: OneOfTwo) -> None:
        node.lead(1, in_sync=(7,))
        node.partition.update_config(replace(node.partition.log.config, flush_messages=1))
        (disk,) = node.disks
        disk.sync_error = DiskFull(disk.root, "sync", disk.root, "full")
        writing = asyncio.ensure_future(node.log.wait_committed(0, node.append(1)))
        # A start waits for its loads, and must not wait for space.
        with pytest.raises(ApiError) as refused:
            await node.log.wait_all_committed(0, 1)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert not writing.done()
        disk.sync_error = None
        node.replicas.sync_again()
        await writing
        await node.log.wait_all_committed(0, 1)

    run(tmp_path, scenario)


def test_the_log_is_read_in_whole_batches_from_its_start(tmp_path: Path) -> None:
    async def scenario(node: OneOfTwo) -> None:
        assert node.log.is_surely_empty(0)
        for _ in range(200):
            node.append(0)
        assert not node.log.is_surely_empty(0)
        sizes = [len(piece) for piece in node.log.read_batches(0)]
        assert len(sizes) > 1
        assert sum(sizes) == 200 * len(batch_of_one())
        assert all(size % len(batch_of_one()) == 0 for size in sizes)

    run(tmp_path, scenario)
