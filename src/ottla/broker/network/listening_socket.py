"""Creates the sockets that listen for connections.

The event loop's own server accepts every connection. Kafka's limits need one that can pause and resume, and that
survives a moment without file descriptors.
"""

import asyncio
import contextlib
import os
import socket

from ottla.config.broker_config import BrokerConfig

# Used unless the operator sets another. Kafka's 50 suits a thread that only accepts; a loop accepts less often.
BACKLOG = 511


async def bind(host: str, port: int) -> list[socket.socket]:
    """One bound socket for each address of the host; without a host, for every interface."""
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
                # The port that the system chose for the first address is used for the others as well.
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
    """Starts to listen. Buffer sizes are set before: accepted sockets inherit them."""
    for option, name in (
        (socket.SO_RCVBUF, "socket.receive.buffer.bytes"),
        (socket.SO_SNDBUF, "socket.send.buffer.bytes"),
    ):
        # By default the system sizes the buffers to what each connection needs, which is faster.
        if name in config.static_values and (size := config.get_int(name)) >= 0:
            bound.setsockopt(socket.SOL_SOCKET, option, size)
    name = "socket.listen.backlog.size"
    bound.listen(config.get_int(name) if name in config.static_values else BACKLOG)
