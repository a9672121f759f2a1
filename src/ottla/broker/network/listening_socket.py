"""Sockets that wait for connections, made by hand.

The event loop's own server accepts whatever comes. Kafka's limits need one that can stop accepting and go on, and that
lives through a moment without file descriptors.
"""

import asyncio
import contextlib
import os
import socket

from ottla.config.broker_config import BrokerConfig

# Where the operator says nothing. Kafka's 50 suits a thread that does nothing but accept; a loop comes by less often.
BACKLOG = 511


async def bind(host: str, port: int) -> list[socket.socket]:
    """One socket for each address that the host stands for; without a host, every interface."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            with contextlib.ExitStack() as stack:
                try:
                    made = stack.enter_context(socket.socket(family, kind, protocol))
                except OSError:
                    continue  # The resolver knows a family that the kernel does not.
                made.setblocking(False)
                if os.name == "posix":
                    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                # A port that the system chose for the first address serves the others as well.
                chosen = bound[0].getsockname()[1] if bound else address[1]
                made.bind((address[0], chosen, *address[2:]))
                stack.pop_all()
                bound.append(made)
    except OSError:
        for made in bound:
            made.close()
        raise
    if not bound:
        raise OSError(f"no address family of {host} is supported")
    return bound


def listen(bound: socket.socket, config: BrokerConfig) -> None:
    """Opens the kernel's queue. Buffer sizes count from here on: accepted sockets inherit them."""
    for option, name in (
        (socket.SO_RCVBUF, "socket.receive.buffer.bytes"),
        (socket.SO_SNDBUF, "socket.send.buffer.bytes"),
    ):
        # Unless the operator insists, the system sizes them by what each connection needs, which is faster.
        if name in config.static_values and (size := config.get_int(name)) >= 0:
            bound.setsockopt(socket.SOL_SOCKET, option, size)
    name = "socket.listen.backlog.size"
    bound.listen(config.get_int(name) if name in config.static_values else BACKLOG)
