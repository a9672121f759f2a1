"""Links of a real event loop over real sockets, on either kind of loop."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from harness.waiting import eventually_async
from ottla.testing.cuttable_links import HELD_BYTES_MAX, CuttableLinks
from ottla.testing.network_cuts import CLIENTS, OPEN, Cut

PEER = "2"
SILENT = Cut(loses_sent=True, loses_received=True)
RESET = Cut(loses_sent=True, loses_received=True, is_reset=True)


class Program(asyncio.BufferedProtocol):
    """What a node has on its connections: it keeps what arrives."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.transport: asyncio.Transport
        self.is_connected = False
        self.is_paused = False
        self.lost: list[Exception | None] = []
        self._buffer = bytearray(65536)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.is_connected = True

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)

    async def has_received(self, expected: bytes) -> None:
        await eventually_async(lambda: now(bytes(self.received)), lambda seen: seen == expected)

    async def has_ended(self) -> None:
        await eventually_async(lambda: now(self.lost))


async def now(value: Any) -> Any:
    return value


class World:
    """A node whose loop is under test, and the other ends of its connections, which are plain blocking sockets."""

    def __init__(self, listening: socket.socket, own: socket.socket) -> None:
        self.listening = listening
        self.own = own
        self.port: int = listening.getsockname()[1]
        self.links = CuttableLinks({PEER: [self.port], CLIENTS: [own.getsockname()[1]]})
        self._programs: list[Program] = []
        self._sockets: list[socket.socket] = []

    def program(self) -> Program:
        self._programs.append(made := Program())
        return made

    async def play(self, scenario: "Scenario") -> None:
        """To the end, with all connections closed."""
        await scenario(self)
        self.links.change({})
        for program in self._programs:
            if program.is_connected:
                program.transport.abort()
                await program.has_ended()
        await let_loop_turn()
        for one in self._sockets:
            one.close()

    def cut(self, cut: Cut, peer: str = PEER) -> None:
        self.links.change({peer: cut})

    async def connect(self) -> tuple[Program, socket.socket]:
        loop = asyncio.get_running_loop()
        _, program = await loop.create_connection(self.program, "127.0.0.1", self.port)
        other = await asyncio.to_thread(self._accept)
        return program, other

    def _accept(self) -> socket.socket:
        other, _ = self.listening.accept()
        other.settimeout(30)
        self._sockets.append(other)
        return other

    async def accept_client(self) -> tuple[socket.socket, "asyncio.Task[Program]"]:
        """A client that has connected, and the node's attempt to take it."""
        client = socket.create_connection(self.own.getsockname(), timeout=30)
        accepted, _ = self.own.accept()
        accepted.setblocking(False)
        self._sockets.append(client)
        loop = asyncio.get_running_loop()

        async def take() -> Program:
            try:
                return (await loop.connect_accepted_socket(self.program, accepted))[1]
            except OSError:
                accepted.close()
                raise

        return client, asyncio.create_task(take())


Scenario = Callable[[World], Coroutine[Any, Any, None]]
Play = Callable[[Scenario], None]


@pytest.fixture(params=[asyncio.SelectorEventLoop, uvloop.Loop])
def play(request: pytest.FixtureRequest) -> Play:
    def run(scenario: Scenario) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as own:
            listening.settimeout(30)
            world = World(listening, own)
            with asyncio.Runner(loop_factory=world.links.loop_class(request.param)) as runner:
                runner.run(world.play(scenario))

    return run


async def receive(other: socket.socket, size: int = 1024) -> bytes:
    return await asyncio.to_thread(other.recv, size)


def is_silent(other: socket.socket) -> bool:
    """Whether nothing has come to this socket."""
    other.setblocking(False)
    try:
        other.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        other.settimeout(30)
    return False


async def let_loop_turn() -> None:
    """Whatever is ready on a loop happens."""
    for _ in range(10):
        await asyncio.sleep(0.001)


def test_an_open_link_carries_both_directions(play: Play) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            program.transport.write(b"ask")
            program.transport.writelines([b"1", b"2"])
            assert await receive(other, 5) == b"ask12"
            other.sendall(b"answer")
            await program.has_received(b"answer")
            program.transport.close()
            assert await receive(other) == b""

    play(scenario)


def test_a_silent_cut_delays_what_was_sent_in_either_direction(play: Play) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            world.cut(SILENT)
            program.transport.write(b"ask")
            other.sendall(b"answer")
            await let_loop_turn()
            assert is_silent(other)
            assert not program.received
            world.cut(OPEN)
            assert await receive(other) == b"ask"
            await program.has_received(b"answer")
            assert not program.lost

    play(scenario)


@pytest.mark.parametrize("loses_sent", [True, False])
def test_a_cut_in_one_direction_lets_the_other_pass(play: Play, loses_sent: bool) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            world.cut(Cut(loses_sent=loses_sent, loses_received=not loses_sent))
            program.transport.write(b"ask")
            other.sendall(b"answer")
            if loses_sent:
                await program.has_received(b"answer")
                assert is_silent(other)
            else:
                assert await receive(other) == b"ask"
                assert not program.received

    play(scenario)


def test_a_program_that_reads_no_more_is_not_woken_by_the_end_of_a_cut(play: Play) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            program.transport.pause_reading()
            world.cut(SILENT)
            other.sendall(b"answer")
            world.cut(OPEN)
            await let_loop_turn()
            assert not program.received
            program.transport.resume_reading()
            await program.has_received(b"answer")

    play(scenario)


@pytest.mark.parametrize("end", ["close", "abort"])
def test_the_peer_hears_of_the_end_of_a_connection_when_the_cut_heals(play: Play, end: str) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            world.cut(SILENT)
            getattr(program.transport, end)()
            await program.has_ended()
            assert program.lost == [None]
            assert program.transport.is_closing()
            assert is_silent(other)
            world.cut(OPEN)
            assert await receive(other) == b""
            assert program.lost == [None]

    play(scenario)


def test_the_node_hears_of_the_death_of_its_peer_when_the_cut_heals(play: Play) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        world.cut(SILENT)
        other.close()
        await let_loop_turn()
        assert not program.lost
        world.cut(OPEN)
        await program.has_ended()

    play(scenario)


def test_who_writes_much_into_a_silent_link_is_told_to_pause(play: Play) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            world.cut(SILENT)
            program.transport.write(bytes(HELD_BYTES_MAX))
            assert not program.is_paused
            program.transport.write(b"!")
            assert program.is_paused
            world.cut(OPEN)
            received = 0
            while received <= HELD_BYTES_MAX:
                received += len(await receive(other, 1 << 20))
            await eventually_async(lambda: now(not program.is_paused))

    play(scenario)


def test_a_connection_over_a_silent_link_is_opened_when_it_heals(play: Play) -> None:
    async def scenario(world: World) -> None:
        world.cut(Cut(loses_received=True))
        opening = asyncio.create_task(world.connect())
        await let_loop_turn()
        assert not opening.done()
        world.cut(OPEN)
        await opening

    play(scenario)


def test_a_reset_ends_connections_for_both_sides_and_refuses_new_ones(play: Play) -> None:
    async def scenario(world: World) -> None:
        program, other = await world.connect()
        with other:
            world.cut(RESET)
            assert [type(error) for error in program.lost] == [ConnectionResetError]
            with pytest.raises(ConnectionResetError):
                await receive(other)
            with pytest.raises(ConnectionRefusedError):
                await world.connect()
        world.cut(OPEN)
        program, other = await world.connect()
        other.close()

    play(scenario)


def test_connections_to_others_do_not_suffer(play: Play) -> None:
    async def scenario(world: World) -> None:
        world.cut(SILENT)
        world.cut(SILENT, CLIENTS)
        with socket.create_server(("127.0.0.1", 0)) as third:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.create_connection(Program, "127.0.0.1", third.getsockname()[1])
            transport.close()
        program, other = await world.connect()
        with other:
            program.transport.write(b"ask")
            assert await receive(other) == b"ask"

    play(scenario)


def test_clients_that_are_cut_off_hear_nothing_until_the_cut_heals(play: Play) -> None:
    async def scenario(world: World) -> None:
        client, taken = await world.accept_client()
        program = await taken
        with client:
            world.cut(SILENT, CLIENTS)
            client.sendall(b"ask")
            newcomer, waiting = await world.accept_client()
            with newcomer:
                newcomer.sendall(b"hello")
                await let_loop_turn()
                assert not program.received
                assert not waiting.done()
                world.cut(OPEN, CLIENTS)
                await program.has_received(b"ask")
                await (await waiting).has_received(b"hello")

    play(scenario)


def test_clients_that_are_reset_lose_their_connections_and_get_no_new_ones(play: Play) -> None:
    async def scenario(world: World) -> None:
        client, taken = await world.accept_client()
        await taken
        with client:
            world.cut(RESET, CLIENTS)
            with pytest.raises(ConnectionResetError):
                await receive(client)
        newcomer, waiting = await world.accept_client()
        with newcomer, pytest.raises(ConnectionRefusedError):
            await waiting

    play(scenario)
