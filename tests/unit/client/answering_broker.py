"""A broker with one answer for each request that it serves, and a memory of what it was asked."""

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from harness.ports import free_port
from ottla.client import Client
from ottla.protocol.codec import decode_at, encode
from ottla.protocol.header import read_request_header, response_header
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from ottla.protocol.schema import Message

T = TypeVar("T")

Answers = Mapping[type[Message], Message]


async def asked(answers: Answers, work: Callable[[Client], Awaitable[T]]) -> tuple[T, list[Message]]:
    """What the work with a client of such a broker returned, and the requests that it took, handshake left out."""
    port = free_port()
    broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
    served: dict[type[Message], Message] = {
        ApiVersionsRequest: ApiVersionsResponse(api_keys=[_row(request) for request in (*answers, MetadataRequest)]),
        MetadataRequest: MetadataResponse(cluster_id="cluster", controller_id=1, brokers=[broker]),
        **answers,
    }
    requests: list[Message] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await _answer_one(reader, writer, served, requests)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        async with Client(f"127.0.0.1:{port}") as client:
            result = await work(client)
    finally:
        server.close()
    return result, [request for request in requests if type(request) in answers]


def _row(request: type[Message]) -> ApiVersion:
    return ApiVersion(
        api_key=request.API_KEY, min_version=request.VERSIONS.start, max_version=request.VERSIONS.stop - 1
    )


async def _answer_one(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, served: Answers, requests: list[Message]
) -> None:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    frame = await reader.readexactly(size)
    classes = {request.API_KEY: request for request in served}
    header = read_request_header(frame, {key: request.FLEXIBLE_FROM for key, request in classes.items()})
    request = classes[header.api_key]
    requests.append(decode_at(request, frame, header.api_version, header.body_position)[0])
    is_flexible = header.api_version >= request.FLEXIBLE_FROM
    answer = response_header(header.api_key, header.correlation_id, is_flexible=is_flexible)
    answer += encode(served[request], header.api_version)
    writer.write(struct.pack(">i", len(answer)) + answer)
