"""What a watch notes, and when it wakes."""

import asyncio
from typing import cast

from ottla.broker.purgatory import Watch
from ottla.replication.partition import Partition, Watcher


class Movable:
    """The part of a partition that a watch knows."""

    def __init__(self) -> None:
        self.watchers: set[Watcher] = set()

    def watch(self, watcher: Watcher, *, is_committed_only: bool) -> None:
        assert not is_committed_only
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
