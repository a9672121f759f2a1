"""A broker without space: when it steps aside, and when it returns."""

import asyncio
from pathlib import Path

import pytest

from ottla.broker.disks import full_disks
from ottla.broker.disks.full_disks import FullDisks, can_be_spared, has_space
from ottla.broker.host import VolumeSpace
from ottla.metadata.image import ClusterImage
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from unit.metadata.clusters import applied, cluster, topic_id, with_topic

ONE, OTHER = Path("/one"), Path("/other")
REPLICATED = with_topic(cluster(1, 2, 3), "t", (1, 2, 3))


class Disks:
    """As much space as the test gives them."""

    def __init__(self) -> None:
        self.usable_bytes = 0

    async def ask(self, path: Path) -> VolumeSpace | None:
        del path
        return VolumeSpace(1 << 40, self.usable_bytes)


class Broker:
    """What broker 1 tells the controller."""

    def __init__(self, *paths: Path, image: ClusterImage = REPLICATED) -> None:
        self.image = image
        self.disks = Disks()
        self.told: list[bool] = []
        self.full = FullDisks(
            1,
            self.disks,  # type: ignore[arg-type]
            image=lambda: self.image,
            online=lambda: list(paths),
            step_aside=self.told.append,
        )


def last_in_sync(image: ClusterImage) -> ClusterImage:
    return applied(image, [PartitionChangeRecord(topic_id=topic_id(1), partition_id=0, isr=[1])])


@pytest.mark.parametrize(
    ("image", "can"),
    [
        (REPLICATED, True),
        (with_topic(REPLICATED, "single", (1,), number=2), True),
        (with_topic(cluster(1), "t", (1,)), False),
        (cluster(1, 2, fenced=[2]), False),
        (last_in_sync(REPLICATED), False),
    ],
    ids=["replicated", "one replica somewhere", "alone", "no other is active", "last in sync"],
)
def test_a_broker_is_spared_if_others_can_take_its_place(image: ClusterImage, *, can: bool) -> None:
    assert can_be_spared(image, 1) is can


@pytest.mark.parametrize(
    ("total_bytes", "usable_bytes", "is_enough"),
    [
        (1 << 40, 1 << 30, True),
        (1 << 40, (1 << 30) - 1, False),
        (100 << 20, 5 << 20, True),
        (100 << 20, 4 << 20, False),
    ],
)
def test_a_return_takes_a_gigabyte_or_a_twentieth_of_a_small_disk(
    total_bytes: int, usable_bytes: int, *, is_enough: bool
) -> None:
    assert has_space(VolumeSpace(total_bytes, usable_bytes)) is is_enough


def test_a_broker_steps_aside_at_once_and_returns_when_there_is_space(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        broker = Broker(ONE)
        await broker.full.look()
        broker.full.note(ONE)
        broker.full.note(ONE)
        assert broker.told == [True]
        broker.disks.usable_bytes = 1 << 30
        await broker.full.look()
        assert broker.told == [True], "the disk has refused a write a moment ago"
        monkeypatch.setattr(full_disks, "_FULL_FOR_S", 0.0)
        await broker.full.look()
        assert broker.told == [True, False]

    asyncio.run(scenario())


def test_a_broker_with_space_in_another_directory_stays() -> None:
    async def scenario() -> None:
        broker = Broker(ONE, OTHER)
        await broker.full.look()
        broker.full.note(ONE)
        assert broker.told == []
        broker.full.note(OTHER)
        assert broker.told == [True]

    asyncio.run(scenario())


def test_a_broker_returns_without_space_when_it_becomes_the_last_in_sync() -> None:
    """All may ask to be fenced at the same time; the last one has to serve reads."""

    async def scenario() -> None:
        broker = Broker(ONE)
        await broker.full.look()
        broker.full.note(ONE)
        broker.image = last_in_sync(REPLICATED)
        await broker.full.look()
        broker.image = REPLICATED
        await broker.full.look()
        assert broker.told == [True, False, True]

    asyncio.run(scenario())


def test_a_broker_that_starts_without_space_serves_before_it_steps_aside() -> None:
    async def scenario() -> None:
        broker = Broker(ONE)
        broker.full.note(ONE)
        assert broker.told == []
        await broker.full.look()
        assert broker.told == [True]

    asyncio.run(scenario())
