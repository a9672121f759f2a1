"""The links of one node's process, which can be cut: connections to other nodes, and those of its clients.

A node opens the connections over which it asks another node, and the other answers on them. So each process carries the
ends that it opened itself, and those of its clients, and together the processes cover every link of the cluster. The
event loop is the seam (see `ottla.broker.host`): connections to the ports of a peer, and those accepted from clients,
pass through a `CuttableConnection`; everything else stays as it is.

A silent cut is a network that loses packets. TCP sends them again, so a cut that heals soon has only delayed them:

- what the node writes is held, up to a bound, beyond which the node is told to pause, as by a full send buffer;
- what arrives stays in the kernel, unread, and so does the end of a connection, whatever happened to the peer;
- a connection that the node closes is gone for the node. Its peer hears of that when the cut heals;
- new connections wait, because a handshake needs both directions. A client's handshake is the kernel's, which no
  process can keep from completing: a client finds itself connected, and hears nothing.

A reset ends every connection at once, for both sides, and refuses new ones. Here, too, a client is accepted first.

A process that ends cannot hold anything: the kernel closes its connections, and a peer may hear of the end of those
that the process had opened, even over a link that is cut. The peer learns no more than that, since it cannot connect.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from ottla.testing.network_cuts import CLIENTS, OPEN, Cut

HELD_BYTES_MAX: Final = 1024 * 1024
# Closing a socket with it resets the connection.
_LINGER_NOT: Final = struct.pack("ii", 1, 0)


class CuttableConnection(asyncio.Transport, asyncio.BufferedProtocol):
    """A transport for the node's program, and the protocol of the real transport."""

    def __init__(self, link: Link, program: asyncio.BufferedProtocol) -> None:
        super().__init__()
        self.program = program
        self._link = link
        self._real: asyncio.Transport
        self._cut = OPEN
        # Written by the program and not sent yet.
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._is_real_full = False
        self._is_program_paused = False
        self._wants_reading = True
        # Called when the peer may hear that the program has ended the connection.
        self._end: Callable[[], None] | None = None
        # Whether the program has heard of the end, and whether the real transport has ended.
        self._is_lost = False
        self.is_gone = False

    # -- for the link -------------------------------------------------------------------------------------------------

    def apply(self, cut: Cut) -> None:
        """From now on this holds."""
        if cut.is_reset:
            self._reset()
            return
        self._cut = cut
        if not cut.loses_sent:
            self._release()
        self._read_or_not()

    def _release(self) -> None:
        held, self._held, self._held_bytes = self._held, [], 0
        if held:
            self._real.writelines(held)
        if self._end is not None:
            self._end()
        self._tell_writing()

    def _reset(self) -> None:
        with contextlib.suppress(OSError):  # It is closed already.
            reset(self._real.get_extra_info("socket"))
        self._real.abort()
        self._lose(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))

    # -- for the program, as a transport ------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        self.writelines((data,))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        if not self._cut.loses_sent:
            self._real.writelines(list(list_of_data))
        elif not self.is_closing():
            self._held += [bytes(part) for part in list_of_data]
            self._held_bytes = sum(map(len, self._held))
            self._tell_writing()

    def close(self) -> None:
        self._finish(self._real.close)

    def abort(self) -> None:
        self._held, self._held_bytes = [], 0
        self._finish(self._real.abort)

    def _finish(self, end: Callable[[], None]) -> None:
        if not self._cut.loses_sent:
            end()
            return
        if self._end is None:
            asyncio.get_running_loop().call_soon(self._lose, None)
        self._end = end
        self._read_or_not()

    def is_closing(self) -> bool:
        return self._end is not None or self._real.is_closing()

    def pause_reading(self) -> None:
        self._wants_reading = False
        self._read_or_not()

    def resume_reading(self) -> None:
        self._wants_reading = True
        self._read_or_not()

    def is_reading(self) -> bool:
        return self._wants_reading

    def _read_or_not(self) -> None:
        if self._wants_reading and not self._cut.loses_received and self._end is None:
            self._real.resume_reading()
        else:
            self._real.pause_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._real.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._held_bytes + self._real.get_write_buffer_size()

    # -- for the real transport, as a protocol ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._real = cast(asyncio.Transport, transport)  # uvloop's has the methods but not the base class
        self.program.connection_made(self)

    def get_buffer(self, sizehint: int) -> Any:
        return self.program.get_buffer(sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        self.program.buffer_updated(nbytes)

    def eof_received(self) -> bool | None:
        return self.program.eof_received()

    def pause_writing(self) -> None:
        self._is_real_full = True
        self._tell_writing()

    def resume_writing(self) -> None:
        self._is_real_full = False
        self._tell_writing()

    def _tell_writing(self) -> None:
        is_full = self._is_real_full or self._held_bytes > HELD_BYTES_MAX
        if is_full == self._is_program_paused or self._is_lost:
            return
        self._is_program_paused = is_full
        if is_full:
            self.program.pause_writing()
        else:
            self.program.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_gone = True
        self._link.remove(self)
        self._lose(exc)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self.program.connection_lost(error)


class Link:
    """All connections between the node and one peer."""

    def __init__(self) -> None:
        self._cut = OPEN
        self._connections: set[CuttableConnection] = set()
        self._changed = asyncio.Event()

    def change(self, cut: Cut) -> None:
        """Cuts or heals it."""
        self._cut = cut
        for connection in tuple(self._connections):
            connection.apply(cut)
        self._changed.set()
        self._changed = asyncio.Event()

    async def passage(self) -> None:
        """Returns when a connection can be opened; ConnectionRefusedError if that is refused."""
        while not self._cut.is_open:
            if self._cut.is_reset:
                raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
            await self._changed.wait()

    def add(self, connection: CuttableConnection) -> None:
        """A connection that was just opened."""
        if connection.is_gone:
            return
        self._connections.add(connection)
        if not self._cut.is_open:
            connection.apply(self._cut)

    def remove(self, connection: CuttableConnection) -> None:
        """A connection that is gone."""
        self._connections.discard(connection)


class CuttableLinks:
    """The links of a node by peer. Only the event loop's thread may change them once the loop runs."""

    def __init__(self, ports: Mapping[str, Sequence[int]]) -> None:
        """The ports of each peer; those of `CLIENTS` are where this node listens for clients."""
        self._links = {peer: Link() for peer in ports}
        self._peers = {port: peer for peer, of_peer in ports.items() if peer != CLIENTS for port in of_peer}
        self._own_ports = frozenset(ports.get(CLIENTS, ()))

    def change(self, table: Mapping[str, Cut]) -> None:
        """Cuts the links of the table, and heals all others."""
        for peer, link in self._links.items():
            link.change(table.get(peer, OPEN))

    def towards(self, port: int) -> Link | None:
        """The link that leads to a port of another node."""
        peer = self._peers.get(port)
        return None if peer is None else self._links[peer]

    def accepted_at(self, port: int) -> Link | None:
        """The link over which a connection came that was accepted at a port of this node."""
        return self._links[CLIENTS] if port in self._own_ports else None

    def loop_class(self, base: type[asyncio.AbstractEventLoop]) -> type[asyncio.AbstractEventLoop]:
        """A kind of event loop whose connections belong to these links."""
        links = self

        class CuttableLoop(base):  # type: ignore[valid-type, misc]
            async def create_connection(self, protocol_factory: Any, host: Any, port: Any, **options: Any) -> Any:
                link = links.towards(port)
                if link is None:
                    return await super().create_connection(protocol_factory, host, port, **options)
                await link.passage()
                connection = CuttableConnection(link, protocol_factory())
                await super().create_connection(lambda: connection, host, port, **options)
                link.add(connection)
                return connection, connection.program

            async def connect_accepted_socket(self, protocol_factory: Any, sock: socket.socket, **options: Any) -> Any:
                link = links.accepted_at(sock.getsockname()[1])
                if link is None:
                    return await super().connect_accepted_socket(protocol_factory, sock, **options)
                try:
                    await link.passage()
                except ConnectionRefusedError:
                    reset(sock)
                    raise
                connection = CuttableConnection(link, protocol_factory())
                await super().connect_accepted_socket(lambda: connection, sock, **options)
                link.add(connection)
                return connection, connection.program

        return CuttableLoop


def reset(sock: socket.socket) -> None:
    """Has the end of a socket reset its connection."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
