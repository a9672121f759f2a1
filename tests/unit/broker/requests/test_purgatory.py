"""What a watch notes, when it wakes, and what those hear who wait for a commit."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ottla.broker.requests.purgatory import Watch, wait_until_acknowledged, wait_until_committed
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.replication.watchers import NOT_URGENT, Interest, Watcher
from ottla.storage.log import AppendInfo
from unit.replication.partitions import TRIO, append, fetch, make, to_follower, to_leader


class Movable:
    """The part of a partition that a watch knows."""

    def __init__(self) -> None:
        self.watchers: set[Watcher] = set()

    def watch(self, watcher: Watcher, interest: Interest) -> None:
        assert interest is Interest.VISIBLE
        self.watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)

    def move(self, readable_bytes: int) -> None:
        for watcher in tuple(self.watchers):
            watcher(readable_bytes)


def watched(count: int) -> tuple[Watch[int], list[Movable]]:
    watch: Watch[int] = Watch()
    partitions = [Movable() for _ in range(count)]
    for place, partition in enumerate(partitions):
        watch.add(place, cast(Partition, partition))
    return watch, partitions


def test_what_moved_before_anybody_waits_is_noted_once_and_costs_nothing_after() -> None:
    watch, (first, second) = watched(2)
    first.move(10)
    assert not first.watchers
    assert second.watchers
    first.move(10)
    assert watch.take() == [0]
    assert watch.take() == []


def test_a_partition_that_rests_is_watched_again_when_it_is_added() -> None:
    watch, (partition,) = watched(1)
    partition.move(1)
    watch.take()
    watch.add(0, cast(Partition, partition))
    partition.move(1)
    assert watch.take() == [0]


def test_waiting_counts_the_bytes_of_all_partitions_resting_ones_included() -> None:
    async def scenario() -> None:
        watch, (first, second) = watched(2)
        first.move(4)
        waiting = asyncio.get_running_loop().create_task(watch.moved(10, 60_000))
        await asyncio.sleep(0)
        second.move(3)
        await asyncio.sleep(0)
        assert not waiting.done()
        first.move(3)
        assert sorted(await waiting) == [0, 1]

    asyncio.run(scenario())


def test_a_move_that_is_not_data_wakes_at_once_and_two_may_wait() -> None:
    async def scenario() -> None:
        watch, (partition,) = watched(1)
        tasks = [asyncio.get_running_loop().create_task(watch.moved(10, 60_000)) for _ in range(2)]
        await asyncio.sleep(0)
        partition.move(0)
        found = await asyncio.gather(*tasks)
        assert [0] in found

    asyncio.run(scenario())


def test_time_ends_the_wait() -> None:
    async def scenario() -> None:
        watch, _ = watched(1)
        assert await watch.moved(1, 1) == []

    asyncio.run(scenario())


def test_a_wait_can_be_ended_though_nothing_moved_and_the_next_one_is_not() -> None:
    async def scenario() -> None:
        watch, (partition,) = watched(1)
        watch.hurry()
        assert not watch.take_hurry()
        waiting = asyncio.get_running_loop().create_task(watch.moved(10, 60_000))
        await asyncio.sleep(0)
        watch.hurry()
        assert await waiting == []
        assert watch.take_hurry()
        waiting = asyncio.get_running_loop().create_task(watch.moved(1, 60_000))
        await asyncio.sleep(0)
        partition.move(1)
        assert await waiting == [0]
        assert not watch.take_hurry()

    asyncio.run(scenario())


def test_a_partition_that_was_replaced_is_watched_in_the_place_of_the_old_one() -> None:
    watch, (old,) = watched(1)
    new = Movable()
    watch.add(0, cast(Partition, new))
    assert not old.watchers
    new.move(1)
    assert watch.take() == [0]


def test_a_closed_watch_leaves_no_watcher_behind() -> None:
    watch, (first, second) = watched(2)
    first.move(1)
    watch.remove(1)
    watch.close()
    assert not first.watchers
    assert not second.watchers


PATIENCE_S = 60.0


def with_trio(home: Path, scenario: Callable[[Partition, float], Coroutine[Any, Any, None]], min_isr: int = 1) -> None:
    async def run() -> None:
        partition = make(home, TRIO, min_insync_replicas=min_isr)
        await scenario(partition, asyncio.get_running_loop().time() + PATIENCE_S)

    asyncio.run(run())


async def committed(partition: Partition, appended: AppendInfo, deadline: float) -> bool:
    return await wait_until_committed(
        partition, appended.leader_epoch, appended.last_offset, deadline, waits_for_space=True
    )


@pytest.mark.parametrize("begins_early", [True, False])
def test_who_waits_for_a_record_that_was_cut_off_hears_that_the_leader_changed(
    tmp_path: Path, begins_early: bool
) -> None:
    async def scenario(partition: Partition, deadline: float) -> None:
        lost = append(partition, ACKS_ALL)
        waiting = asyncio.ensure_future(committed(partition, lost, deadline))
        if begins_early:
            await asyncio.sleep(0)
        to_follower(partition)
        to_leader(partition, in_sync=(1,))
        # Another record at the same offset, and committed.
        assert append(partition, ACKS_ALL).last_offset == lost.last_offset
        assert partition.log.high_watermark > lost.last_offset
        with pytest.raises(ApiError) as refused:
            await waiting
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER

    with_trio(tmp_path, scenario)


def test_who_waits_hears_of_lost_leadership_at_once(tmp_path: Path) -> None:
    async def scenario(partition: Partition, deadline: float) -> None:
        info = append(partition, ACKS_ALL)
        waiting = asyncio.ensure_future(committed(partition, info, deadline))
        await asyncio.sleep(0)
        to_follower(partition)
        with pytest.raises(ApiError):
            await waiting

    with_trio(tmp_path, scenario)


def test_a_commit_is_acknowledged_when_the_last_in_sync_replica_has_it(tmp_path: Path) -> None:
    async def scenario(partition: Partition, deadline: float) -> None:
        info = append(partition, ACKS_ALL)
        waiting = asyncio.ensure_future(wait_until_acknowledged(partition, ACKS_ALL, info, deadline))
        fetch(partition, 2, 1)
        await asyncio.sleep(0)
        assert not waiting.done()
        fetch(partition, 3, 1)
        assert await waiting
        late = append(partition, ACKS_ALL)
        assert not await wait_until_acknowledged(partition, ACKS_ALL, late, deadline - PATIENCE_S)

    with_trio(tmp_path, scenario)


def test_who_waits_hears_that_too_few_replicas_were_left_to_keep_the_record(tmp_path: Path) -> None:
    async def scenario(partition: Partition, deadline: float) -> None:
        info = append(partition, ACKS_ALL)
        waiting = asyncio.ensure_future(wait_until_acknowledged(partition, ACKS_ALL, info, deadline))
        await asyncio.sleep(0)
        for replica in (2, 3):
            fetch(partition, replica, 1)
        partition.apply(replace(TRIO, in_sync=(1,), partition_epoch=1))
        with pytest.raises(ApiError) as refused:
            await waiting
        assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    with_trio(tmp_path, scenario, min_isr=2)


def test_what_is_not_urgent_is_noted_and_wakes_nobody() -> None:
    async def scenario() -> None:
        watch, (first, second) = watched(2)
        first.move(NOT_URGENT)
        waiting = asyncio.ensure_future(watch.moved(1, 600_000))
        await asyncio.sleep(0)
        second.move(NOT_URGENT)
        await asyncio.sleep(0)
        assert not waiting.done()
        first.move(5)
        assert await waiting == [0, 1]

    asyncio.run(scenario())
