"""A client of nothing but frames: it sends what it is told, well-formed or not, and shows what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import struct
from typing import Any, cast

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.schema import Message


def response_class(request: type[Message]) -> type[Message]:
    """The class that answers a request class."""
    module = importlib.import_module(request.__module__.removesuffix("_request") + "_response")
    name = request.__name__.removesuffix("Request") + "Response"
    return cast(type[Message], getattr(module, name))


def framed_request(request: Message, version: int, correlation_id: int = 1, client_id: str = "wire") -> bytes:
    """A request as it is on the wire."""
    name = client_id.encode()
    header = struct.pack(">hhih", request.API_KEY, version, correlation_id, len(name)) + name
    if version >= request.FLEXIBLE_FROM:
        header += b"\x00"
    return _framed(header + encode(request, version))


def _framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


class WireClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._correlation_id = 0

    @classmethod
    async def connect(cls, port: int) -> WireClient:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def close(self) -> None:
        self.writer.close()
        # Where the server hung up first, that is told once more.
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()

    def send(self, request: Message, version: int, client_id: str = "wire") -> int:
        """Sends a request; its correlation id."""
        self._correlation_id += 1
        self.writer.write(framed_request(request, version, self._correlation_id, client_id))
        return self._correlation_id

    def send_frame(self, frame: bytes) -> None:
        self.writer.write(_framed(frame))

    async def receive_frame(self) -> bytes:
        """The next frame; IncompleteReadError if the server closed instead."""
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(size)

    async def receive(self, request: type[Message], version: int, correlation_id: int) -> Any:
        """The answer to a request that was sent before."""
        frame = await self.receive_frame()
        assert struct.unpack_from(">i", frame)[0] == correlation_id
        is_flexible = version >= request.FLEXIBLE_FROM and request.API_KEY != ApiKey.API_VERSIONS
        return decode(response_class(request), frame[5 if is_flexible else 4 :], version)

    async def call(self, request: Message, version: int | None = None) -> Any:
        """The answer to a request, in its newest version unless another is given."""
        if version is None:
            version = request.VERSIONS.stop - (2 if request.LATEST_VERSION_UNSTABLE else 1)
        correlation_id = self.send(request, version)
        return await asyncio.wait_for(self.receive(type(request), version, correlation_id), 20)

    async def is_closed_by_peer(self) -> bool:
        """Whether the server hung up, after whatever it sent before."""
        try:
            await asyncio.wait_for(self._reader.read(), 10)
        except (ConnectionError, TimeoutError) as error:
            return isinstance(error, ConnectionError)
        return True
