"""Those who follow the metadata, each at its own pace."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from harness.simulated_quorum import ROOT, format_disk, new_topic, running_quorum
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.testing.sim.disk import SimulatedDisk

pytestmark = pytest.mark.timeout(20)


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16)


def removed(name: str) -> Callable[[ClusterImage], Decision[None]]:
    return lambda image: Decision([RemoveTopicRecord(topic_id=topic_id(name))], None)


class Follower:
    """Notes what it is told, and goes on when it may."""

    def __init__(self) -> None:
        self.seen: list[tuple[ImageDelta, ClusterImage]] = []
        self.may_go_on = asyncio.Event()
        self.has_begun = asyncio.Event()

    async def follow(self, delta: ImageDelta, image: ClusterImage) -> None:
        self.seen.append((delta, image))
        self.has_begun.set()
        await self.may_go_on.wait()


@asynccontextmanager
async def quorum() -> AsyncIterator:
    disk = SimulatedDisk(ROOT)
    format_disk(disk)
    async with running_quorum(disk) as running:
        yield running


def test_a_reader_that_hangs_holds_up_neither_the_quorum_nor_other_readers() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            hangs, other = Follower(), Follower()
            other.may_go_on.set()
            stuck, reader = running.log.reader(), running.log.reader()
            stuck.start(hangs.follow, "one that hangs")
            reader.start(other.follow, "other")
            for name in "abc":
                await running.controller.submit(new_topic(name))
            await reader.until(running.log.committed_offset)
            assert {one.name for one in reader.image.topics} == {"a", "b", "c"}
            assert len(hangs.seen) == 1
            assert not list(stuck.image.topics)

    asyncio.run(scenario())


def test_a_slow_reader_gets_what_it_missed_as_one_delta() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            slow = Follower()
            reader = running.log.reader()
            reader.start(slow.follow, "slow one")
            await running.submit(new_topic("a"))
            await slow.has_begun.wait()
            for decide in (new_topic("b"), removed("b"), removed("a"), new_topic("c")):
                await running.submit(decide)
            slow.may_go_on.set()
            await reader.until(running.log.committed_offset)
            (first, _), (rest, image) = slow.seen
            assert first.created_topics == {topic_id("a")}
            assert rest == ImageDelta(created_topics={topic_id("c")}, deleted_topics={topic_id("a"): "a"})
            assert image == reader.image == running.image
            # What one reader merged is its own.
            assert first == ImageDelta(created_topics={topic_id("a")})

    asyncio.run(scenario())


def test_a_reader_is_told_what_happened_before_it_began_to_follow() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            follower = Follower()
            follower.may_go_on.set()
            reader = running.log.reader()
            await running.submit(new_topic("a"))
            await running.submit(new_topic("b"))
            assert not list(reader.image.topics)
            reader.start(follower.follow, "late one")
            await reader.until(running.log.committed_offset)
            ((delta, _),) = follower.seen
            assert delta.created_topics == {topic_id("a"), topic_id("b")}

    asyncio.run(scenario())


def test_a_reader_that_fails_fails_the_node() -> None:
    async def fail(delta: ImageDelta, image: ClusterImage) -> None:
        raise ValueError("cannot follow")

    async def scenario() -> None:
        async with quorum() as running:
            reader = running.log.reader()
            reader.start(fail, "broken one")
            await running.controller.submit(new_topic("a"))
            with pytest.raises(ApiError, match="cannot follow"):
                await reader.until(running.log.committed_offset)
            assert isinstance(await running.failed, ValueError)

    asyncio.run(scenario())


def test_who_waits_for_a_reader_that_ends_hears_so() -> None:
    async def scenario() -> None:
        async with quorum() as running:
            reader = running.log.reader()
            waiting = reader.until(running.log.committed_offset + 1)
            await reader.stop()
            with pytest.raises(ApiError, match="shutting down"):
                await waiting

    asyncio.run(scenario())
