"""The network between simulated machines: connections that deliver bytes late, in pieces, or no more.

A connection is two ends. What is written at one arrives at the other in order, after a delay of its own; an end that
does not read keeps the other from writing more, as TCP does. A program that is killed has its connections reset, after
all that it had written. A machine that loses its power says nothing: its peers hear of it when they write to it after
it is back, or when their patience ends. A link can be clogged, in one direction or both, which holds everything until
it is cleared. A single connection can be stalled while others get through: so the words of a process arrive after its
death, and after those of its successor. And a connection can be reset at any moment.

Refusals: nobody listens there (the other machine says so), or the machine is off (nobody says anything).
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ottla.testing.sim.loop import Power, SimulatedLoop, SimulatedMachine, machine_context

HIGH_WATER_BYTES: Final = 64 * 1024
LOW_WATER_BYTES: Final = 16 * 1024
_FIRST_EPHEMERAL_PORT: Final = 40_000


class _Closed:
    """Arrives after the last byte of an end that was closed."""


class _Reset:
    """Arrives when the other end is gone."""


_CLOSED: Final = _Closed()
_RESET: Final = _Reset()
_Item = bytes | _Closed | _Reset


@dataclass(slots=True)
class Link:
    """What lies between two machines, one way."""

    delay_s: float = 0.000_2
    jitter_s: float = 0.000_3
    is_clogged: bool = False
    # What a clogged link holds, with the end that it goes to.
    held: list[tuple[End, _Item]] = field(default_factory=list)
    connecting: list[asyncio.Future[None]] = field(default_factory=list)

    def cleared(self, loop: SimulatedLoop) -> asyncio.Future[None]:
        """Done when the link delivers again."""
        future = loop.create_future()
        self.connecting.append(future)
        return future


class End(asyncio.Transport):
    """One end of a connection: a transport for its program, and before that a socket that was accepted."""

    def __init__(self, network: SimulatedNetwork, machine: SimulatedMachine, address: tuple[str, int]) -> None:
        super().__init__()
        self.machine = machine
        self.address = address
        self.peer: End
        self.is_opener = False
        self._network = network
        self._context = machine_context(machine)
        self._protocol: asyncio.BufferedProtocol | None = None
        self._arrived: deque[_Item] = deque()
        self._is_reading = True
        self._is_closing = False
        self._is_lost = False
        self._unread_bytes = 0
        self._is_write_paused = False
        self.last_arrival_s = 0.0

    # -- as an accepted socket ----------------------------------------------------------------------------------------

    def setblocking(self, flag: bool) -> None:
        """Nothing here blocks."""

    def setsockopt(self, *_: Any) -> None:
        """There is nothing to tune."""

    def attach(self, protocol: asyncio.BufferedProtocol) -> tuple[End, asyncio.BufferedProtocol]:
        """Gives the end to a program; it may have been reset already."""
        self._protocol = protocol
        protocol.connection_made(self)
        self._network.loop.call_soon(self._deliver, context=self._context)
        return self, protocol

    # -- as a transport -----------------------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": self.peer.address, "sockname": self.address}.get(name, default)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._network.loop.call_soon(self._deliver, context=self._context)

    def write(self, data: Any) -> None:
        if self._is_closing or not data:
            return
        self._unread_bytes += len(data)
        self._network.carry(self, bytes(data))
        if self._unread_bytes > HIGH_WATER_BYTES and not self._is_write_paused and self._protocol is not None:
            self._is_write_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return self._unread_bytes

    def close(self) -> None:
        self._end(_CLOSED)

    def abort(self) -> None:
        self._end(_RESET)

    # -- what arrives -------------------------------------------------------------------------------------------------

    def arrive(self, item: _Item) -> None:
        """Something from the other end is here."""
        self._network.note_arrival(self, item)
        self._arrived.append(item)
        self._deliver()

    def reset(self) -> None:
        """The connection breaks, as the network has it."""
        self._lose(ConnectionResetError("the connection was reset"))

    def _deliver(self) -> None:
        while self._arrived and self._is_reading and self._protocol is not None and not self._is_closing:
            item = self._arrived.popleft()
            if isinstance(item, bytes):
                rest = self._feed(item)
                self.peer.note_read(len(item) - len(rest))
                if rest:
                    self._arrived.appendleft(rest)
            elif isinstance(item, _Closed):
                self._protocol.eof_received()
                self.close()
            else:
                self.reset()

    def _feed(self, data: bytes) -> bytes:
        """Hands bytes over; those that the program does not want now."""
        protocol = self._protocol
        assert protocol is not None
        while data and self._is_reading and not self._is_closing:
            buffer = cast("memoryview", protocol.get_buffer(-1))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            protocol.buffer_updated(count)
            data = data[count:]
        return data

    def note_read(self, size_bytes: int) -> None:
        """The other end has read so much of what was written here."""
        self._unread_bytes -= size_bytes
        if self._is_write_paused and self._unread_bytes <= LOW_WATER_BYTES and not self._is_lost:
            self._network.loop.call_soon(self._resume_writing, context=self._context)

    def _resume_writing(self) -> None:
        if self._is_write_paused and not self._is_lost and self._unread_bytes <= LOW_WATER_BYTES:
            self._is_write_paused = False
            assert self._protocol is not None
            self._protocol.resume_writing()

    def _end(self, word: _Closed | _Reset) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._network.carry(self, word)
        self._network.loop.call_soon(self._tell_lost, None, context=self._context)

    def _lose(self, error: Exception) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._network.loop.call_soon(self._tell_lost, error, context=self._context)

    def _tell_lost(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._network.forget(self)
            if self._protocol is not None:
                self._protocol.connection_lost(error)


class BoundSocket:
    """An address that a machine has taken, and those who wait to be accepted there."""

    def __init__(self, network: SimulatedNetwork, machine: SimulatedMachine, address: tuple[str, int]) -> None:
        self.machine = machine
        self.is_listening = False
        # Set by the event loop while the program accepts.
        self.on_waiting: Callable[[], None] | None = None
        self._network = network
        self._address = address
        self._waiting: deque[End] = deque()

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def setsockopt(self, *_: Any) -> None:
        """There is nothing to tune."""

    def listen(self, backlog: int) -> None:
        del backlog
        self.is_listening = True

    def accept(self) -> tuple[End, tuple[str, int]]:
        if not self._waiting:
            raise BlockingIOError
        end = self._waiting.popleft()
        return end, end.peer.address

    def close(self) -> None:
        self.is_listening = False
        self._network.release(self._address, self)
        for end in self._waiting:
            end.abort()

    def knock(self, end: End) -> None:
        """Somebody has connected."""
        self._waiting.append(end)
        if self.on_waiting is not None:
            self.on_waiting()


def _do_nothing() -> None:
    """Nobody wants to be called."""


class SimulatedNetwork:
    """All addresses, links and connections of a simulated world."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random) -> None:
        self.loop = loop
        loop.network = self
        self._chance = chance
        # Who has a name now; a machine that starts again is another one.
        self._machines: dict[str, SimulatedMachine] = {}
        self._bound: dict[tuple[str, int], BoundSocket] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._ends: dict[End, None] = {}
        self._next_port = _FIRST_EPHEMERAL_PORT
        self._awaited: dict[tuple[str, bytes], list[tuple[asyncio.Future[str], Callable[[], None]]]] = {}
        # What waits for each end whose connection is stalled.
        self._stalled: dict[End, list[_Item]] = {}

    # -- what a simulation does with it -------------------------------------------------------------------------------

    def join(self, machine: SimulatedMachine) -> None:
        """A machine comes up under its name."""
        self._machines[machine.name] = machine

    def link(self, sender: str, receiver: str) -> Link:
        """What lies between two machines, in one direction."""
        found = self._links.get((sender, receiver))
        if found is None:
            found = self._links[sender, receiver] = Link()
        return found

    def clog(self, one: str, other: str) -> None:
        """Neither machine hears the other any more, until the way between them is cleared."""
        for link in (self.link(one, other), self.link(other, one)):
            link.is_clogged = True

    def clear(self, one: str, other: str) -> None:
        """Lets clogged links deliver what they held, in both directions."""
        for link in (self.link(one, other), self.link(other, one)):
            link.is_clogged = False
            held, link.held = link.held, []
            for to, item in held:
                self._schedule(link, to, item)
            connecting, link.connecting = link.connecting, []
            for future in connecting:
                if not future.done():
                    future.set_result(None)

    def stall(self, machine: SimulatedMachine, receivers: Collection[str]) -> list[End]:
        """Keeps back what a machine sends to some others on the connections that it opened; for `unstall`."""
        ends = [
            end.peer
            for end in self._ends
            if end.machine is machine and end.is_opener and end.peer.machine.name in receivers
        ]
        for end in ends:
            self._stalled.setdefault(end, [])
        return ends

    def unstall(self, ends: Iterable[End]) -> None:
        """Delivers what was kept back, also of a process that died meanwhile."""
        for end in ends:
            link = self.link(end.peer.machine.name, end.machine.name)
            for item in self._stalled.pop(end, ()):
                self._send(link, end, item)

    def connections(self) -> list[tuple[End, End]]:
        """Every connection of which both ends are there, each once."""
        return [(end, end.peer) for end in self._ends if end.peer in self._ends and end.address < end.peer.address]

    def reset(self, end: End) -> None:
        """Breaks a connection; both sides hear of it."""
        for one in (end, end.peer):
            self.loop.call_soon(one.reset, context=machine_context(one.machine))

    def next_arrival(
        self, name: str, api_key: int, on_arrival: Callable[[], None] = _do_nothing
    ) -> asyncio.Future[str]:
        """Done when the next request of a kind reaches a machine, with the name of the machine that sent it.

        Who waits for it goes on when the machine may have done what was asked; `on_arrival` is called before that.
        """
        arrival: asyncio.Future[str] = self.loop.create_future()
        self._awaited.setdefault((name, api_key.to_bytes(2)), []).append((arrival, on_arrival))
        return arrival

    def note_arrival(self, end: End, item: object) -> None:
        """Something has reached a machine; a request begins with its size and its API key."""
        if self._awaited and isinstance(item, bytes):
            for arrival, on_arrival in self._awaited.pop((end.machine.name, item[4:6]), ()):
                if not arrival.done():
                    arrival.set_result(end.peer.machine.name)
                    on_arrival()

    def process_died(self, machine: SimulatedMachine) -> None:
        """The kernel closes what a dead process had open."""
        self._release_all(machine)
        for end in [end for end in self._ends if end.machine is machine]:
            self.carry(end, _RESET)
            self.forget(end)

    def machine_died(self, machine: SimulatedMachine) -> None:
        """The power is gone, and nobody says so."""
        self._release_all(machine)
        for end in [end for end in self._ends if end.machine is machine]:
            self.forget(end)
        if self._machines.get(machine.name) is machine:
            del self._machines[machine.name]

    def _release_all(self, machine: SimulatedMachine) -> None:
        self._bound = {address: bound for address, bound in self._bound.items() if bound.machine is not machine}

    # -- what programs do ---------------------------------------------------------------------------------------------

    def bind(self, machine: SimulatedMachine, port: int) -> BoundSocket:
        """Takes an address of a machine; port 0 is any."""
        if port == 0:
            port = self._take_port()
        address = machine.name, port
        if address in self._bound:
            raise OSError(98, "Address already in use")
        bound = self._bound[address] = BoundSocket(self, machine, address)
        return bound

    def release(self, address: tuple[str, int], bound: BoundSocket) -> None:
        """An address is free again."""
        if self._bound.get(address) is bound:
            del self._bound[address]

    async def connect(self, machine: SimulatedMachine, host: str, port: int) -> End:
        """Connects; ConnectionRefusedError if nobody listens there, and never an answer if the machine is off."""
        link, back = self.link(machine.name, host), self.link(host, machine.name)
        await asyncio.sleep(self._delay_s(link))
        if host not in self._machines:
            await self.loop.create_future()
        while link.is_clogged or back.is_clogged:
            await (link if link.is_clogged else back).cleared(self.loop)
        bound = self._bound.get((host, port))
        if bound is None or not bound.is_listening:
            raise ConnectionRefusedError(111, "Connection refused")
        own = End(self, machine, (machine.name, self._take_port()))
        other = End(self, bound.machine, (host, port))
        own.peer, other.peer = other, own
        own.is_opener = True
        self._ends[own] = self._ends[other] = None
        bound.knock(other)
        await asyncio.sleep(self._delay_s(link))
        return own

    def carry(self, sender: End, item: _Item) -> None:
        """Takes something from one end to the other; the end of a dead process has nothing to send."""
        if sender not in self._ends:
            return
        to = sender.peer
        link = self.link(sender.machine.name, to.machine.name)
        if to.machine.power is Power.OFF:
            if to.machine.name in self._machines:
                # Somebody is there, but does not know this connection.
                self.loop.call_later(self._delay_s(link), sender.reset, context=machine_context(sender.machine))
            return
        if to in self._stalled:
            self._stalled[to].append(item)
        else:
            self._send(link, to, item)

    def _send(self, link: Link, to: End, item: _Item) -> None:
        if link.is_clogged:
            link.held.append((to, item))
        else:
            self._schedule(link, to, item)

    def forget(self, end: End) -> None:
        """An end has gone."""
        self._ends.pop(end, None)

    def _schedule(self, link: Link, to: End, item: _Item) -> None:
        when = max(to.last_arrival_s, self.loop.world_s + self._delay_s(link))
        to.last_arrival_s = when
        if isinstance(item, bytes) and len(item) > 1 and self._chance.random() < _SPLIT_SHARE:
            cut = self._chance.randrange(1, len(item))
            self.loop.call_at_world(when, to.arrive, item[:cut], context=machine_context(to.machine))
            item = item[cut:]
        self.loop.call_at_world(when, to.arrive, item, context=machine_context(to.machine))

    def _delay_s(self, link: Link) -> float:
        return link.delay_s + self._chance.random() * link.jitter_s

    def _take_port(self) -> int:
        self._next_port += 1
        return self._next_port


# How often a write arrives in two pieces.
_SPLIT_SHARE: Final = 0.05
