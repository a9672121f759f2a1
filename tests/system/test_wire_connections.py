"""Connections in numbers, against a real process: ten thousand at once, storms, requests that never end."""

import asyncio
import contextlib
import resource
import struct
from collections.abc import Iterator

import pytest

from harness.control_client import ControlClient
from harness.process_memory import resident_bytes
from harness.servers import OttlaServer
from harness.wire import WireClient
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest

MEBIBYTE = 1024 * 1024
MANY = 10_000
PING = ApiVersionsRequest(client_software_name="probe", client_software_version="1")


@contextlib.contextmanager
def descriptor_limit(soft: int) -> Iterator[None]:
    """This process, and the ones it starts, may have so many files open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def running(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]) -> Iterator[OttlaServer]:
    server = OttlaServer(tmp_path_factory.mktemp("crowded"), settings)
    # As a shell would start it: the node raises the limit itself.
    with descriptor_limit(1024):
        server.start()
    try:
        yield server
        assert server.stop() == 0
    finally:
        server.close()
    assert "Traceback" not in server.output.read_text()


async def gone(clients: list[WireClient]) -> None:
    for client in clients:
        client.writer.transport.abort()
    for client in clients:
        with contextlib.suppress(OSError):
            await client.close()


def test_ten_thousand_clients_are_served_and_the_next_one_waits(tmp_path_factory: pytest.TempPathFactory) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY + 500:
        pytest.skip(f"ten thousand connections need more than the {hard} files that this machine allows (ulimit -Hn)")

    async def crowd(server: OttlaServer) -> None:
        clients: list[WireClient] = []
        for _ in range(MANY // 100):
            clients += await asyncio.gather(*(WireClient.connect(server.port) for _ in range(100)))
        for client in clients:
            client.send(PING, 4)
        for client in clients:
            await client.receive(ApiVersionsRequest, 4, 1)
        late = await asyncio.gather(*(WireClient.connect(server.port) for _ in range(100)))
        for client in late:
            client.send(PING, 4)
        await gone(clients)
        for client in late:
            await client.receive(ApiVersionsRequest, 4, 1)
        await gone(late)

    # The control client has a few connections of its own.
    with running(tmp_path_factory, {"max.connections": str(MANY + 50)}) as server:
        before = resident_bytes(server.pid)
        with descriptor_limit(MANY + 500), ControlClient(server.bootstrap):
            asyncio.run(crowd(server))
            assert resident_bytes(server.pid) - before < 400 * MEBIBYTE


def test_a_storm_of_connections_from_one_address_is_turned_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    async def storm(server: OttlaServer) -> None:
        turned_away = 0
        for _ in range(10):
            clients = await asyncio.gather(*(WireClient.connect(server.port) for _ in range(100)))
            turned_away += sum(await asyncio.gather(*(is_refused(client) for client in clients)))
            await gone(clients)
        assert turned_away > 500

    async def is_refused(client: WireClient) -> bool:
        try:
            client.send(PING, 4)
            await client.receive(ApiVersionsRequest, 4, 1)
        except (asyncio.IncompleteReadError, ConnectionError):
            return True
        return False

    with running(tmp_path_factory, {"max.connections.per.ip": "30"}) as server, ControlClient(server.bootstrap):
        asyncio.run(storm(server))


def test_clients_that_never_finish_a_request_are_cut_off(tmp_path_factory: pytest.TempPathFactory) -> None:
    async def loiter(server: OttlaServer) -> None:
        clients = await asyncio.gather(*(WireClient.connect(server.port) for _ in range(300)))
        for number, client in enumerate(clients):
            # Some say nothing at all, some half a length, some a length and then a byte at a time.
            client.writer.write((b"", b"\0\0", struct.pack(">i", 100_000))[number % 3])

        async def drip() -> None:
            while True:
                for client in clients[2::3]:
                    client.writer.write(b"\0")
                await asyncio.sleep(0.1)

        dripping = asyncio.get_running_loop().create_task(drip())
        closed = await asyncio.gather(*(client.is_closed_by_peer() for client in clients))
        dripping.cancel()
        assert all(closed)
        await gone(list(clients))

    settings = {"connections.max.idle.ms": "2000"}
    with running(tmp_path_factory, settings) as server, ControlClient(server.bootstrap):
        asyncio.run(loiter(server))
