"""A registry's process: binds, reads the topic, joins the group, and only then serves.

A port that is taken is found before anything else is touched. Whoever connects before the topic was read waits in the
kernel's queue, so that no client hears of a subject that is not there only because it has not been read yet.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx
import uvicorn

from ottla.client import Client
from ottla.registry.instance import RegistryInstance
from ottla.registry.rest.app import make_app
from ottla.registry.settings import ListenAddress, RegistrySettings


class _Server(uvicorn.Server):
    """Ends when it is told to. uvicorn's own would then raise the signal anew, and leave no time to leave the group."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        yield

    def _stop(self) -> None:
        self.should_exit = True


class ListenFailed(Exception):
    """An address cannot be used; the message says why and what to do."""


async def run_registry(settings: RegistrySettings, on_ready: Callable[[list[ListenAddress]], None]) -> None:
    """Serves until SIGTERM or SIGINT. `on_ready` hears where it listens: port 0 has become one that was free.

    ListenFailed, UnusableTopic or ClientError if it cannot start.
    """
    with ExitStack() as closing:
        sockets = [closing.enter_context(_bind(one)) for one in settings.listeners]
        timeout_s = settings.instance.timeout_ms / 1000
        async with Client(settings.bootstrap, settings.client) as client, httpx.AsyncClient(timeout=timeout_s) as peers:
            instance = RegistryInstance(client, settings.instance)
            await instance.start()
            try:
                app = make_app(instance, peers, body_bytes_max=settings.body_bytes_max)
                server = _Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False))
                on_ready(
                    [
                        ListenAddress(one.host, bound.getsockname()[1])
                        for one, bound in zip(settings.listeners, sockets, strict=True)
                    ]
                )
                await server.serve(sockets)
            finally:
                await instance.stop()


def _bind(address: ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        bound = socket.create_server((address.host, address.port), family=family, backlog=1024)
    except OSError as error:
        raise ListenFailed(
            f"Cannot listen on {address.host}:{address.port}: {error.strerror}. Is another registry running there? "
            "Name another port in listeners."
        ) from None
    # Its connections inherit it. An answer is two writes, and the second would wait for the first to be acknowledged,
    # which clients put off for 40 ms. asyncio knows such a socket only if its protocol was named.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound
