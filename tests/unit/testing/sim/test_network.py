import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from ottla.testing.sim.host import SimulatedHost
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import End, SimulatedNetwork


class Peer(asyncio.BufferedProtocol):
    """Keeps what arrives; a server echoes it."""

    def __init__(self, *, is_echo: bool = False) -> None:
        self.received = bytearray()
        self.lost: list[Exception | None] = []
        self.is_write_paused = False
        self.transport: End
        self._is_echo = is_echo
        self._buffer = bytearray(1000)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, End)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]
        if self._is_echo:
            self.transport.write(self._buffer[:nbytes])

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)

    def pause_writing(self) -> None:
        self.is_write_paused = True

    def resume_writing(self) -> None:
        self.is_write_paused = False


class World:
    """A server that accepts, and a client."""

    def __init__(self) -> None:
        self.loop = SimulatedLoop()
        self.network = SimulatedNetwork(self.loop, random.Random(1))
        self.server = SimulatedHost(self.loop, self.network, "server", random.Random(2), {})
        self.client = SimulatedHost(self.loop, self.network, "client", random.Random(3), {})
        self.served: list[Peer] = []

    async def serve(self) -> None:
        (bound,) = await self.server.bind("server", 9)
        bound.listen(10)

        def accept() -> None:
            accepted, _ = bound.accept()
            peer = Peer(is_echo=True)
            self.served.append(peer)
            self.loop.create_task(self.loop.connect_accepted_socket(lambda: peer, accepted))

        self.loop.add_reader(bound, accept)

    async def connect(self) -> Peer:
        _, peer = await self.loop.create_connection(Peer, "server", 9)
        assert isinstance(peer, Peer)
        return peer

    def run(self, story: Coroutine[Any, Any, None]) -> None:
        async def begin() -> None:
            await self.loop.start_on(self.server, self.serve())
            await self.loop.start_on(self.client, story)

        self.loop.run_until_complete(begin())


def test_bytes_arrive_whole_and_in_order() -> None:
    world = World()
    sent = random.Random(4).randbytes(200_000)

    async def story() -> None:
        peer = await world.connect()
        for start in range(0, len(sent), 777):
            peer.transport.write(sent[start : start + 777])
        await asyncio.sleep(5)
        assert peer.received == sent

    world.run(story())


def test_nobody_listens() -> None:
    world = World()

    async def story() -> None:
        with pytest.raises(ConnectionRefusedError):
            await world.loop.create_connection(Peer, "server", 10)

    world.run(story())


def test_a_request_of_an_awaited_kind_names_its_sender() -> None:
    world = World()
    produce, fetch = (b"\0\0\0\4" + api_key.to_bytes(2) + b"\0\0" for api_key in (0, 1))

    async def story() -> None:
        peer = await world.connect()
        awaited = world.network.next_arrival("server", 1)
        peer.transport.write(produce)
        await asyncio.sleep(1)
        assert not awaited.done()
        peer.transport.write(fetch)
        assert await awaited == "client"

    world.run(story())


def test_an_arrival_is_told_before_the_request_is_read() -> None:
    world = World()
    received: list[bytes] = []

    async def story() -> None:
        peer = await world.connect()
        awaited = world.network.next_arrival("server", 1, lambda: received.append(bytes(world.served[0].received)))
        peer.transport.write(b"\0\0\0\4\0\1\0\0")
        await awaited
        assert received == [b""]

    world.run(story())


def test_a_process_that_died_in_the_middle_of_a_callback_sends_nothing_after_that() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        await asyncio.sleep(1)
        world.loop.drop(world.server)
        world.network.process_died(world.server)
        world.served[0].transport.write(b"too late")
        await asyncio.sleep(1)
        assert peer.received == b""
        assert len(peer.lost) == 1

    world.run(story())


def test_a_killed_process_resets_its_connections_and_a_machine_without_power_is_silent() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        world.loop.drop(world.server)
        world.network.process_died(world.server)
        await asyncio.sleep(1)
        assert [type(error) for error in peer.lost] == [ConnectionResetError]
        with pytest.raises(ConnectionRefusedError):
            await world.connect()
        world.network.machine_died(world.server)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await world.connect()

    world.run(story())


def test_who_writes_to_a_machine_that_was_restarted_is_reset() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        world.loop.drop(world.server)
        world.network.machine_died(world.server)
        peer.transport.write(b"lost")
        await asyncio.sleep(100)
        assert peer.lost == []
        world.server = SimulatedHost(world.loop, world.network, "server", random.Random(5), {})
        peer.transport.write(b"who are you?")
        await asyncio.sleep(1)
        assert [type(error) for error in peer.lost] == [ConnectionResetError]

    world.run(story())


def test_a_clogged_link_delivers_later() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        world.network.clog("client", "server")
        peer.transport.write(b"late")
        await asyncio.sleep(60)
        assert peer.received == b""
        world.network.clear("client", "server")
        await asyncio.sleep(1)
        assert peer.received == b"late"

    world.run(story())


def test_a_link_can_be_clogged_in_one_direction() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        await asyncio.sleep(1)
        world.network.link("server", "client").is_clogged = True
        peer.transport.write(b"heard")
        await asyncio.sleep(60)
        assert world.served[0].received == b"heard"
        assert peer.received == b""
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await world.connect()
        world.network.clear("client", "server")
        await asyncio.sleep(1)
        assert peer.received == b"heard"

    world.run(story())


def test_words_on_a_stalled_connection_arrive_after_the_death_of_who_said_them() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        await asyncio.sleep(1)
        (served,) = world.served
        stalled = world.network.stall(world.client, {"server"})
        peer.transport.write(b"the last words")
        another = await world.connect()
        another.transport.write(b"first")
        await asyncio.sleep(1)
        assert (served.received, world.served[1].received) == (b"", b"first")
        served.transport.write(b"an answer")
        await asyncio.sleep(1)
        assert peer.received == b"an answer"
        world.network.process_died(world.client)
        world.network.unstall(stalled)
        await asyncio.sleep(1)
        assert served.received == b"the last words"
        assert len(served.lost) == 1

    world.run(story())


def test_a_peer_that_does_not_read_stops_who_writes() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        await asyncio.sleep(1)
        (served,) = world.served
        served.transport.pause_reading()
        peer.transport.write(bytes(100_000))
        await asyncio.sleep(1)
        assert peer.is_write_paused
        served.transport.resume_reading()
        await asyncio.sleep(1)
        assert not peer.is_write_paused
        assert len(peer.received) == 100_000

    world.run(story())


def test_a_close_comes_after_what_was_written() -> None:
    world = World()

    async def story() -> None:
        peer = await world.connect()
        peer.transport.write(b"the last words")
        peer.transport.close()
        await asyncio.sleep(1)
        (served,) = world.served
        assert served.received == b"the last words"
        assert peer.lost == [None]
        assert len(served.lost) == 1

    world.run(story())
