"""A broker that answers as it is told: the other end of a connection under test."""

import asyncio
import struct
from collections.abc import Awaitable, Callable

from harness.ports import free_port
from ottla.client.addresses import Address
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.metadata_response import MetadataResponse
from ottla.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from ottla.protocol.schema import Message

SERVED = [
    ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=4),
    ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=13),
]
FLEXIBLE_FROM = {
    cls.API_KEY: cls.FLEXIBLE_FROM for cls in (ApiVersionsRequest, MetadataRequest, WriteTxnMarkersRequest)
}


class Peer:
    """One connection, as the broker sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def receive(self) -> tuple[int, int, int]:
        """The next request: its API key, version and correlation id."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        frame = await self.reader.readexactly(size)
        key, version, correlation_id = struct.unpack_from(">hhi", frame)
        return key, version, correlation_id

    def answer(self, key: int, version: int, correlation_id: int, response: Message) -> None:
        header = struct.pack(">i", correlation_id)
        if key != ApiKey.API_VERSIONS and version >= FLEXIBLE_FROM[key]:
            header += b"\0"
        self.send(header + encode(response, version))

    def send(self, frame: bytes) -> None:
        self.writer.write(struct.pack(">i", len(frame)) + frame)

    async def greet(self, *more: ApiVersion) -> None:
        """The answer to the first request, ApiVersions; it may name more than the usual APIs."""
        key, version, correlation_id = await self.receive()
        self.answer(key, version, correlation_id, ApiVersionsResponse(api_keys=[*SERVED, *more]))

    async def answer_metadata(self, cluster_id: str) -> None:
        key, version, correlation_id = await self.receive()
        self.answer(key, version, correlation_id, MetadataResponse(cluster_id=cluster_id))


async def with_broker(script: Callable[[Peer], Awaitable[None]], test: Callable[[Address], Awaitable[None]]) -> None:
    """Run a test against a broker whose connections follow the script; the script's own failure fails the test."""
    failures: list[AssertionError] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(Peer(reader, writer))
        except asyncio.IncompleteReadError:
            pass
        except AssertionError as error:
            failures.append(error)
        finally:
            writer.close()

    port = free_port()
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        await test(Address("127.0.0.1", port))
    finally:
        server.close()
        await server.wait_closed()
    assert failures == []
