"""A network that delays, repeats and loses requests: a proxy between clients and a server that knows API keys.

The server must advertise the proxy's address. Faults are chosen per request by a plan; everything else passes through,
in order. What a client hears stays a legal answer to what it sent: repeated requests go out under correlation ids of
their own, and their answers are dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

# Correlation ids that clients do not reach in a test.
REPEATED = 1 << 30


class Fault(Enum):
    DELAYED = auto()
    # Twice in a row, on the same connection.
    TWICE = auto()
    # It arrives; its answer and the connection are lost, so the client sends it again.
    ANSWER_LOST = auto()
    # It arrives, and once more on another connection just before the client's next request of the same kind: in the
    # middle of what the client does then.
    AGAIN_LATER = auto()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

# The fault of the n-th request with an API key, from 1.
Plan = Callable[[int], Fault | None]

DELAY_S = 0.1


def every(count: int, *faults: Fault) -> Plan:
    """Each n-th request suffers the next one of these."""
    return lambda number: faults[number // count % len(faults)] if number % count == 0 else None


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that the server has to answer."""

    is_repeated: bool
    is_last: bool


class FaultyProxy:
    """Runs in a thread of its own between `start` and `stop`."""

    def __init__(self, port: int, server_port: int, plans: Mapping[int, Plan]) -> None:
        self._port = port
        self._server_port = server_port
        self._plans = plans
        self._numbers: Counter[int] = Counter()
        self._held: dict[tuple[int, bytes], bytes] = {}
        # What was done to requests, by API key.
        self.done: Counter[tuple[int, Fault]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        self._listener.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._to_server() as upstream:
                await Connection(self, (reader, writer), upstream).run()
        except ConnectionError:
            # The server is not there: the client finds out as it would without us.
            pass
        finally:
            await hang_up(writer)

    @contextlib.asynccontextmanager
    async def _to_server(self) -> AsyncIterator[Streams]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        try:
            yield reader, writer
        finally:
            await hang_up(writer)

    def fault_of(self, api_key: int) -> Fault | None:
        plan = self._plans.get(api_key)
        if plan is None:
            return None
        self._numbers[api_key] += 1
        fault = plan(self._numbers[api_key])
        if fault is not None:
            self.done[api_key, fault] += 1
        return fault

    def hold(self, api_key: int, client_id: bytes, frame: bytes) -> None:
        self._held[api_key, client_id] = frame

    async def deliver_held(self, api_key: int, client_id: bytes) -> None:
        """Sends what was held back of a client, and waits until the server has answered it."""
        frame = self._held.pop((api_key, client_id), None)
        if frame is not None:
            async with self._to_server() as (reader, writer):
                writer.write(with_size(frame))
                await read_frame(reader)


class Connection:
    """One client's connection, and the one to the server that belongs to it."""

    def __init__(self, proxy: FaultyProxy, client: Streams, server: Streams) -> None:
        self._proxy = proxy
        self._from_client, self._to_client = client
        self._from_server, self._to_server = server
        self._sent: deque[Sent] = deque()

    async def run(self) -> None:
        tasks = [asyncio.ensure_future(self._requests()), asyncio.ensure_future(self._answers())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _requests(self) -> None:
        while True:
            frame = await read_frame(self._from_client)
            api_key, _version, correlation_id = struct.unpack_from(">hhi", frame)
            client_id = client_id_of(frame)
            await self._proxy.deliver_held(api_key, client_id)
            fault = self._proxy.fault_of(api_key)
            if fault is Fault.DELAYED:
                await asyncio.sleep(DELAY_S)
            self._forward(frame, is_last=fault is Fault.ANSWER_LOST)
            if fault is Fault.TWICE:
                self._forward(renumbered(frame, REPEATED + correlation_id), is_repeated=True)
            elif fault is Fault.AGAIN_LATER:
                self._proxy.hold(api_key, client_id, renumbered(frame, REPEATED + correlation_id))

    def _forward(self, frame: bytes, *, is_repeated: bool = False, is_last: bool = False) -> None:
        self._sent.append(Sent(is_repeated, is_last))
        self._to_server.write(with_size(frame))

    async def _answers(self) -> None:
        while True:
            frame = await read_frame(self._from_server)
            sent = self._sent.popleft()
            if sent.is_last:
                return
            if not sent.is_repeated:
                self._to_client.write(with_size(frame))


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def with_size(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def renumbered(frame: bytes, correlation_id: int) -> bytes:
    return frame[:4] + struct.pack(">i", correlation_id) + frame[8:]


def client_id_of(frame: bytes) -> bytes:
    (length,) = struct.unpack_from(">h", frame, 8)
    return frame[10 : 10 + max(length, 0)]
