"""A registry's process: binds, reads the topic, joins the group, and only then serves.

What an operator can have got wrong (stores, users, a port that is taken) is found before anything else is touched.
Whoever connects before the topic was read waits in the kernel's queue, so that no client hears of a subject that is not
there only because it has not been read yet. Each listener has a server of its own, since one with TLS and one without
share nothing but the app.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx
import uvicorn
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from ottla.client import Client
from ottla.client.errors import ConnectionFailure, RequestTimedOut
from ottla.registry.authentication import Authenticator
from ottla.registry.election import Identity
from ottla.registry.instance import RegistryInstance
from ottla.registry.rest.admission import Admission
from ottla.registry.rest.app import make_app
from ottla.registry.settings import ListenAddress, RegistrySettings
from ottla.registry.tls import client_context, server_context
from ottla.registry.users import Users, load_users

if TYPE_CHECKING:
    from ottla.registry.metrics.registry_metrics import RegistryMetrics

logger = logging.getLogger("ottla.registry")

_RETRY_S: Final = 0.5
_BACKLOG: Final = 1024


class _Config(uvicorn.Config):
    """One that takes a context of TLS as it is; uvicorn's own would make it from files."""

    def __init__(self, app: ASGIApp, settings: RegistrySettings, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            # What it says of itself at each start and stop, the registry says once.
            log_level="warning",
            timeout_keep_alive=_whole_seconds(settings.idle_timeout_ms),
            timeout_graceful_shutdown=_whole_seconds(settings.shutdown_timeout_ms),
        )
        self._tls = tls

    def load(self) -> None:
        super().load()
        self.ssl = self._tls


class _Server(uvicorn.Server):
    """Ends when it is told to. uvicorn's own would then raise the signal anew, and leave no time to leave the group."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ListenFailed(Exception):
    """An address cannot be used; the message says why and what to do."""


class StoreUnreachable(Exception):
    """Brokers, or the topic on them, could not be reached in time; the message says which."""


async def run_registry(
    settings: RegistrySettings,
    on_ready: Callable[[list[ListenAddress]], None],
    metrics: RegistryMetrics | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT. `on_ready` hears where it listens: port 0 has become one that was free.

    ConfigError, ListenFailed, PageUnservable, UnusableTopic, StoreUnreachable or ClientError if it cannot start.
    """
    users = None if settings.authentication is None else load_users(Path(settings.authentication.users_file))
    tls = server_context(settings.tls) if any(one.scheme == "https" for one in settings.listeners) else None
    async with AsyncExitStack() as closing:
        sockets = [closing.enter_context(bind_address(one)) for one in settings.listeners]
        listening = [
            replace(one, port=bound.getsockname()[1]) for one, bound in zip(settings.listeners, sockets, strict=True)
        ]
        if metrics is not None:
            await metrics.endpoint.start()
            closing.push_async_callback(metrics.endpoint.stop)
        peers = await closing.enter_async_context(_peers(settings))
        client = Client(settings.bootstrap, settings.client)
        closing.push_async_callback(client.close)
        instance = RegistryInstance(client, replace(settings.instance, identity=_identity(settings, listening)))
        await _start(instance, client, settings)
        closing.push_async_callback(instance.stop)
        app = _guarded(make_app(instance, peers, body_bytes_max=settings.body_bytes_max), settings, users)
        if metrics is not None:
            app = metrics.measure(app)
        servers = [_Server(_Config(app, settings, tls if one.scheme == "https" else None)) for one in listening]
        if metrics is not None:
            await metrics.serve(instance, lambda: sum(len(one.server_state.connections) for one in servers))
        _stop_on_signals(servers)
        on_ready(listening)
        await asyncio.gather(*(server.serve([bound]) for server, bound in zip(servers, sockets, strict=True)))


async def _start(instance: RegistryInstance, client: Client, settings: RegistrySettings) -> None:
    failure: Exception | None = None
    try:
        async with asyncio.timeout(settings.init_timeout_ms / 1000):
            while True:
                try:
                    await client.cluster.start()
                    break
                except ConnectionFailure as error:
                    if failure is None:
                        logger.warning("Waiting for brokers at %s: %s", settings.bootstrap, error)
                    failure = error
                    await asyncio.sleep(_RETRY_S)
            await instance.start()
    except (TimeoutError, ConnectionFailure, RequestTimedOut) as error:
        why = str(error) or str(failure or "")
        raise StoreUnreachable(
            f"Topic {settings.instance.topic.name} could not be read from brokers at {settings.bootstrap} within "
            f"{settings.init_timeout_ms} ms (kafkastore.init.timeout.ms){': ' if why else ''}{why}"
        ) from error


def _stop_on_signals(servers: Sequence[_Server]) -> None:
    def stop() -> None:
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


def _guarded(app: ASGIApp, settings: RegistrySettings, users: Users | None) -> ASGIApp:
    """An app that knows who asks, and from which pages."""
    if settings.authentication is not None and users is not None:
        app = Admission(app, settings.authentication, Authenticator(users))
        for one in settings.listeners:
            if one.scheme == "http" and one.host not in ("127.0.0.1", "::1", "localhost"):
                logger.warning("Passwords travel in clear text to %s: serve others over https", one.url)
    if settings.cross_origin is not None:
        allowed = settings.cross_origin
        app = CORSMiddleware(
            app,
            allow_origins=allowed.origins,
            allow_methods=allowed.methods,
            allow_headers=allowed.headers,
            allow_credentials=settings.authentication is not None,
        )
    return app


def _peers(settings: RegistrySettings) -> httpx.AsyncClient:
    """What reaches the leader. A proxy that the environment names is not for neighbours."""
    timeout = httpx.Timeout(settings.leader_read_timeout_ms / 1000, connect=settings.leader_connect_timeout_ms / 1000)
    return httpx.AsyncClient(timeout=timeout, verify=client_context(settings.tls), trust_env=False)


def _identity(settings: RegistrySettings, listening: Sequence[ListenAddress]) -> Identity:
    """As it was set, but with the port that the system chose for port 0."""
    own = settings.instance.identity
    if own.port != 0:
        return own
    return replace(own, port=[one.port for one in listening if one.scheme == own.scheme][-1])


def _whole_seconds(ms: int) -> int:
    return -(-ms // 1000)


def bind_address(address: ListenAddress) -> socket.socket:
    """A socket that listens; ListenFailed if it cannot."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Named, since asyncio sends at once (TCP_NODELAY) over sockets that say they are TCP alone. Over others the end of
    # an answer waits until the client has acknowledged its beginning: 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address.host, address.port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise ListenFailed(
            f"Cannot listen on {address.host}:{address.port}: {error.strerror}. Is another registry running there? "
            "Name another port in listeners."
        ) from None
    return bound
