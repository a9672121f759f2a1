"""What an error of ours costs the periodic work of shards: one round of one of them."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from ottla.broker.coordinators import deadlines
from ottla.coordinator.group.records import GroupCoordinatorRecord
from ottla.coordinator.group.shard import GroupShard
from unit.broker.coordinators.groups.fakes import Node, image_with


def test_an_error_in_one_partition_does_not_end_the_expiry_of_offsets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rounds: Counter[int] = Counter()

    async def scenario() -> None:
        node = Node(image=image_with(offsets_partitions=2), offsets_retention_check_interval_ms=1)
        await node.serve(partitions=2)
        shards = node.groups.loaded_shards()
        enough = asyncio.Event()

        def expire(shard: GroupShard, now_ms: int) -> Iterator[list[GroupCoordinatorRecord]]:
            del now_ms
            number = shards.index(shard)
            rounds[number] += 1
            if number == 0:
                raise KeyError("a bug")
            if rounds[number] == 3:
                enough.set()
            return iter(())

        monkeypatch.setattr(GroupShard, "expire_offsets", expire)
        node.groups.start()
        await enough.wait()
        await node.stop()

    asyncio.run(scenario())
    assert rounds == {0: 3, 1: 3}
    assert caplog.text.count("KeyError: 'a bug'") == 3


def test_deadlines_are_kept_again_after_an_error_in_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deadlines, "_RETRY_PAUSE_S", 0.001)

    async def scenario() -> None:
        node = await Node().serve()
        (shard,) = node.groups.loaded_shards()
        tick = shard.tick
        ticks = 0
        ticked = asyncio.Event()

        def failing_once(now_ms: int) -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 1:
                raise KeyError("a bug")
            tick(now_ms)
            ticked.set()

        monkeypatch.setattr(shard, "tick", failing_once)
        (active,) = node.groups.shards.all_active()
        active.deadlines.check()
        await ticked.wait()
        await node.stop()

    asyncio.run(scenario())
    assert "KeyError: 'a bug'" in caplog.text
