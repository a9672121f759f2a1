"""The endpoint against clients of all manners, over real sockets."""

import asyncio
import contextlib
import http.client
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ottla.metrics import endpoint as module
from ottla.metrics.endpoint import CONNECTIONS_MAX, HEAD_BYTES_MAX, MetricsEndpoint
from ottla.metrics.errors import PageUnservable

PAGE = [b"first 1\n", b"second 2\n"]


async def page() -> list[bytes]:
    return PAGE


def play(scenario: Callable[[int], Awaitable[None]], text: Callable[[], Awaitable[list[bytes]]] = page) -> None:
    """Runs a scenario against an endpoint; it gets the port."""

    async def run() -> None:
        endpoint = MetricsEndpoint("127.0.0.1", 0, text)
        await endpoint.start()
        await endpoint.serve()
        try:
            await scenario(endpoint.port)
        finally:
            await endpoint.stop()

    asyncio.run(run())


def ask(port: int, method: str, path: str, **fields: Any) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, **fields)
        response = connection.getresponse()
        return response.status, {name.lower(): text for name, text in response.getheaders()}, response.read()
    finally:
        connection.close()


async def talk(port: int, sent: bytes) -> bytes:
    """Everything that the endpoint answers to some bytes until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        await close(writer)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/metrics", 200, b"".join(PAGE)),
        ("GET", "/metrics?x=y", 200, b"".join(PAGE)),
        ("HEAD", "/metrics", 200, b""),
        ("GET", "/", 200, b"Ottla's metrics are at /metrics.\n"),
        ("GET", "/other", 404, b"There is only /metrics here.\n"),
        ("POST", "/metrics", 405, b"Only GET and HEAD.\n"),
    ],
)
def test_there_is_one_page(method: str, path: str, status: int, body: bytes) -> None:
    async def scenario(port: int) -> None:
        found = await asyncio.to_thread(ask, port, method, path)
        assert (found[0], found[2]) == (status, body)
        if path.startswith("/metrics") and status == 200:
            assert found[1]["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert found[1]["content-length"] == str(sum(map(len, PAGE)))

    play(scenario)


def test_a_scraper_may_keep_its_connection() -> None:
    async def scenario(port: int) -> None:
        request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answers = await talk(port, request + request + last)
        assert answers.count(b"HTTP/1.1 200") == 3
        assert answers.count(b"second 2\n") == 3

    play(scenario)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x00\x12\x00\x03garbage\r\n\r\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nLong: " + b"x" * (2 * HEAD_BYTES_MAX), b"431"),
    ],
)
def test_what_is_not_http_is_refused_and_harms_nobody(sent: bytes, status: bytes) -> None:
    async def scenario(port: int) -> None:
        assert (await talk(port, sent)).startswith(b"HTTP/1.1 " + status)
        assert (await asyncio.to_thread(ask, port, "GET", "/metrics"))[0] == 200

    play(scenario)


def test_a_client_that_sends_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)

    async def scenario(port: int) -> None:
        assert await talk(port, b"GET /metrics HT") == b""
        assert await talk(port, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf") == b""

    play(scenario)


def test_a_client_that_does_not_read_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)

    async def large() -> list[bytes]:
        return [bytes(1_000_000)] * 50

    async def scenario(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(200):
                if not [task for task in asyncio.all_tasks() if "_converse" in str(task.get_coro())]:
                    return
                await asyncio.sleep(0.05)
            raise AssertionError("the endpoint still waits for a client that does not read")

    play(scenario, large)


def test_a_crowd_is_served_and_a_larger_one_is_turned_away() -> None:
    async def scenario(port: int) -> None:
        crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS_MAX)]
        for reader, writer in crowd:
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b"second 2\n")).startswith(b"HTTP/1.1 200")
        assert await talk(port, b"") == b""
        for _, writer in crowd:
            await close(writer)

    play(scenario)


def test_a_page_that_cannot_be_made_is_an_error_and_not_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> list[bytes]:
        raise ZeroDivisionError

    async def scenario(port: int) -> None:
        for _ in range(2):
            assert (await asyncio.to_thread(ask, port, "GET", "/metrics"))[0] == 500

    play(scenario, broken)
    assert "could not be gathered" in caplog.text


def test_stopping_ends_connections_that_are_open() -> None:
    async def run() -> None:
        endpoint = MetricsEndpoint("127.0.0.1", 0, page)
        await endpoint.start()
        await endpoint.serve()
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"/metrics.\n")
        await endpoint.stop()
        assert await reader.read() == b""
        await close(writer)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", endpoint.port)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("127.0.0.1", "the port is in use by another process. Choose another one."),
        ("192.0.2.1", "Name an address of this machine."),
        ("no-such-host.invalid", "Name an address of this machine."),
    ],
)
def test_an_address_that_cannot_be_had_is_told_with_its_remedy(host: str, message: str) -> None:
    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(PageUnservable) as failed:
                await MetricsEndpoint(host, port, page).start()
        assert str(failed.value).startswith(f"--metrics {host}:{port}: ")
        assert str(failed.value).endswith(message)

    asyncio.run(run())
