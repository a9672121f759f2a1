import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from ottla.client import Client, ClientSettings, NewTopic
from ottla.client.machine import Machine
from ottla.config.broker_config import single_node_defaults
from ottla.protocol.api_keys import ApiKey
from ottla.testing.sim.disk import DiskOperation, Survival
from ottla.testing.sim.host import EPOCH_MS, SimulatedHost
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork
from ottla.testing.sim.server import Life, SimulatedServer

SETTINGS = ClientSettings(machine=Machine(time_ms=lambda: EPOCH_MS))


class World:
    """A server and one client."""

    def __init__(self, **overrides: str) -> None:
        self.loop = SimulatedLoop()
        self.network = network = SimulatedNetwork(self.loop, random.Random(1))
        config = single_node_defaults(Path("/disk"), "node-1:9092")
        config |= {name.replace("_", "."): value for name, value in overrides.items()}
        self.server = SimulatedServer(self.loop, network, "node-1", random.Random(2), config)
        self._client_host = SimulatedHost(self.loop, network, "client", random.Random(3), {})

    async def start(self) -> None:
        self.server.start()
        await self.server.settled()
        assert self.server.is_up, self.server.failure

    def run(self, story: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def begin() -> None:
            await self.start()
            await self.loop.start_on(self._client_host, story())

        self.loop.run_until_complete(begin())
        self.loop.close()
        assert self.server.bugs == []


async def produce(count: int) -> None:
    async with Client("node-1:9092", SETTINGS) as client, client.producer() as producer:
        for number in range(count):
            await (await producer.send("t", str(number).encode(), partition=0))


async def record_count() -> int:
    async with Client("node-1:9092", SETTINGS) as client:
        fetched = await client.fetch_batches("t", 0, 0)
        return fetched.high_watermark


async def create() -> None:
    async with Client("node-1:9092", SETTINGS) as client:
        await client.admin.create_topics([NewTopic("t", 1)])


def test_what_was_written_is_there_after_a_kill_and_after_a_shutdown() -> None:
    world = World()

    async def story() -> None:
        await create()
        await produce(3)
        world.server.kill()
        assert world.server.life is Life.DOWN
        await world.start()
        assert await record_count() == 3
        await world.server.shut_down()
        await world.start()
        assert await record_count() == 3
        assert world.server.start_count == 3

    world.run(story)


def test_a_power_cut_takes_what_was_not_synced_and_nothing_else() -> None:
    for flush, left in ((1 << 62, 0), (1, 3)):
        world = World(log_flush_interval_messages=str(flush))

        async def story(world: World = world, left: int = left) -> None:
            await create()
            await asyncio.sleep(100)
            await produce(3)
            world.server.cut_power(Survival.NOTHING)
            await world.start()
            assert await record_count() == left

        world.run(story)


def test_a_blow_between_two_changes_of_a_disk_leaves_what_was_written_before_it_and_no_answer() -> None:
    world = World()
    armed: list[asyncio.Future[None]] = []
    written: list[str] = []

    async def story() -> None:
        await create()
        # The first change that the request leads to is the append.
        arrived = world.network.next_arrival(
            "node-1", ApiKey.PRODUCE, lambda: armed.append(world.server.strike_at_change(1, world.server.kill))
        )
        producing = asyncio.ensure_future(produce(1))
        producing.add_done_callback(lambda _: written.append("answered"))
        await arrived
        await armed[0]
        assert world.server.life is Life.DOWN
        await asyncio.sleep(1)
        assert not written
        await world.start()
        assert await record_count() == 1
        await producing
        # The producer repeats what it was not told of, and the node knows it.
        assert await record_count() == 1

    world.run(story)
    assert world.loop.failures == []


def test_a_blow_at_a_checkpoint_finds_a_log_whose_end_is_not_durable() -> None:
    world = World(log_flush_offset_checkpoint_interval_ms="1000")

    async def story() -> None:
        await create()
        await asyncio.sleep(100)
        struck = world.server.strike_at_checkpoint(lambda: world.server.cut_power(Survival.NOTHING))
        await asyncio.sleep(100)
        assert not struck.done()
        await produce(3)
        await struck
        await world.start()
        assert await record_count() == 0

    world.run(story)


def test_a_blow_that_was_called_off_does_not_fall() -> None:
    world = World()

    async def story() -> None:
        await create()
        world.server.strike_at_change(1, world.server.kill).cancel()
        await produce(1)
        assert world.server.is_up

    world.run(story)


def test_a_blow_while_the_node_starts_is_not_an_error_of_the_node() -> None:
    world = World()

    async def story() -> None:
        for count in range(1, 12):
            await world.server.shut_down()
            struck = world.server.strike_at_change(count, world.server.kill)
            world.server.start()
            await struck
            assert world.server.life is Life.DOWN
            await world.start()

    world.run(story)
    assert world.loop.failures == []


def test_a_node_that_cannot_write_its_metadata_ends_itself() -> None:
    world = World()

    async def story() -> None:
        for disk in world.server.disks.values():
            disk.faults.fail(DiskOperation.SYNC)
        await asyncio.sleep(10)
        assert world.server.life is Life.DOWN
        assert world.server.failure is not None
        await world.start()

    world.run(story)
