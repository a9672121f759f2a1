"""The floor: a server of our own that does no more for a Produce request than any server in Python has to.

    python -m bench.floor HOST PORT DIRECTORY

It runs on the same event loop, the same transport and the same `FrameReader` as a node of Ottla. Of a Produce request
it reads only what leads to the batches; each of them has its CRC-32C checked and goes to its partition's file in one
writev; the answer is the shortest that a client accepts. There is no topic configuration, no offset, no producer state,
no index, no high watermark, and nobody is ever refused. What Ottla costs above it is the price of what Kafka promises,
and of how we wrote it.

Everything but Produce is answered as far as the load generators and the bench ask for it, through the ordinary codec.
"""

import asyncio
import gc
import os
import struct
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import uvloop
from crc32c import crc32c

from ottla.broker.process import keep_freed_memory, raise_descriptor_limit
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_at, encode_parts
from ottla.protocol.errors import ErrorCode
from ottla.protocol.frame import FrameReader
from ottla.protocol.header import read_request_header, response_header
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest
from ottla.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.primitives import read_uvarint
from ottla.protocol.record_batch import ATTRIBUTES_POSITION, CRC_POSITION
from ottla.protocol.response_frame import framed
from ottla.protocol.schema import Message

FRAME_BYTES_MAX = 100 * 1024 * 1024
NODE_ID = 1
CLUSTER_ID = "floor"
# Flexible, and names topics: the one version whose bytes are taken apart here.
PRODUCE_VERSION = 9
# librdkafka sends record batches of format 2 only to a broker that says it can be fetched from. Nobody does.
ADVERTISED: dict[int, tuple[int, int]] = {
    ApiKey.PRODUCE: (0, PRODUCE_VERSION),
    ApiKey.FETCH: (4, 12),
    ApiKey.FIND_COORDINATOR: (0, 4),
}

_HEADER = struct.Struct(">hhih")
_INT32 = struct.Struct(">i")
_CRC = struct.Struct(">I")
# Size of the response, correlation id, no tags.
_RESPONSE = struct.Struct(">iib")
# Index, error code, base offset, log append time, log start offset; no record errors, no message, no tags.
_PARTITION = struct.Struct(">ihqqqbbb")
_ACKS_AND_TIMEOUT_BYTES = 6
# Throttle time and no tags: the end of the response.
_END = b"\0\0\0\0\0"


class Floor:
    """The topics, and the answers of all connections."""

    def __init__(self, host: str, port: int, directory: Path) -> None:
        self._host = host
        self._port = port
        self._directory = directory
        self._topic_ids: dict[str, bytes] = {}
        # The files of each topic's partitions.
        self._files: dict[bytes, list[int]] = {}
        self._producer_ids = 0
        self._served: dict[int, tuple[type[Message], Callable[[Any], Message]]] = {
            ApiKey.API_VERSIONS: (ApiVersionsRequest, self._tell_versions),
            ApiKey.METADATA: (MetadataRequest, self._describe),
            ApiKey.CREATE_TOPICS: (CreateTopicsRequest, self._create_topics),
            ApiKey.DELETE_TOPICS: (DeleteTopicsRequest, self._delete_topics),
            ApiKey.INIT_PRODUCER_ID: (InitProducerIdRequest, self._give_producer_id),
        }
        self._flexible_from = {key: request.FLEXIBLE_FROM for key, (request, _) in self._served.items()}

    def answer(self, frame: bytearray) -> bytes:
        """The answer to a request, with its size; empty for acks=0."""
        api_key, version, correlation_id, client_id_size = _HEADER.unpack_from(frame)
        if api_key == ApiKey.PRODUCE:
            assert version == PRODUCE_VERSION, f"Produce v{version} was not offered"
            return self._produce(frame, correlation_id, _HEADER.size + max(client_id_size, 0))
        header = read_request_header(frame, self._flexible_from)
        request_class, serve = self._served[api_key]
        request, _ = decode_at(request_class, frame, version, header.body_position)
        is_flexible = version >= request_class.FLEXIBLE_FROM
        start = response_header(api_key, correlation_id, is_flexible=is_flexible)
        return b"".join(framed(encode_parts(serve(request), version, start)))

    def _produce(self, frame: bytearray, correlation_id: int, position: int) -> bytes:
        # The tags of the header, of which nobody sends any, and the length of a transactional id.
        size, position = read_uvarint(frame, position + 1)
        position += max(size - 1, 0)
        has_answer = frame[position : position + 2] != b"\0\0"
        begin = position + _ACKS_AND_TIMEOUT_BYTES
        topic_count, position = read_uvarint(frame, begin)
        parts: list[bytes | bytearray] = [frame[begin:position]]
        view = memoryview(frame)
        for _ in range(topic_count - 1):
            begin = position
            size, position = read_uvarint(frame, position)
            end = position + size - 1
            files = self._files[bytes(frame[position:end])]
            partition_count, position = read_uvarint(frame, end)
            parts.append(frame[begin:position])
            for _ in range(partition_count - 1):
                index = _INT32.unpack_from(frame, position)[0]
                size, position = read_uvarint(frame, position + 4)
                end = position + size - 1
                crc = _CRC.unpack_from(frame, position + CRC_POSITION)[0]
                assert crc32c(view[position + ATTRIBUTES_POSITION : end]) == crc, "a batch is damaged"
                os.writev(files[index], (view[position:end],))
                parts.append(_PARTITION.pack(index, 0, 0, -1, 0, 1, 0, 0))
                position = end + 1
            parts.append(b"\0")
            position += 1
        parts.append(_END)
        body = b"".join(parts)
        return _RESPONSE.pack(len(body) + 5, correlation_id, 0) + body if has_answer else b""

    def _tell_versions(self, request: ApiVersionsRequest) -> ApiVersionsResponse:
        del request
        rows = {key: (cls.VERSIONS.start, cls.VERSIONS.stop - 1) for key, (cls, _) in self._served.items()}
        rows.update(ADVERTISED)
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in sorted(rows.items())
            ]
        )

    def _describe(self, request: MetadataRequest) -> MetadataResponse:
        names = list(self._topic_ids) if request.topics is None else [topic.name or "" for topic in request.topics]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=NODE_ID, host=self._host, port=self._port)],
            cluster_id=CLUSTER_ID,
            controller_id=NODE_ID,
            topics=[self._describe_topic(name) for name in names],
        )

    def _describe_topic(self, name: str) -> MetadataResponseTopic:
        if name not in self._topic_ids:
            return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partitions = [
            MetadataResponsePartition(
                partition_index=index, leader_id=NODE_ID, leader_epoch=0, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
            )
            for index in range(len(self._files[name.encode()]))
        ]
        return MetadataResponseTopic(name=name, topic_id=self._topic_ids[name], partitions=partitions)

    def _create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        results = []
        for topic in request.topics:
            paths = [self._directory / f"{topic.name}-{index}" for index in range(topic.num_partitions)]
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._files[topic.name.encode()] = [os.open(path, flags, 0o644) for path in paths]
            self._topic_ids[topic.name] = uuid.uuid4().bytes
            results.append(CreatableTopicResult(name=topic.name, topic_id=self._topic_ids[topic.name]))
        return CreateTopicsResponse(topics=results)

    def _delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        names = [topic.name or "" for topic in request.topics] or request.topic_names
        for name in names:
            for index, file in enumerate(self._files.pop(name.encode())):
                os.close(file)
                (self._directory / f"{name}-{index}").unlink()
            del self._topic_ids[name]
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name=name) for name in names])

    def _give_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        del request
        self._producer_ids += 1
        return InitProducerIdResponse(producer_id=self._producer_ids, producer_epoch=0)


class FloorConnection(asyncio.BufferedProtocol):
    """Frames in, answers out; what came in one read is answered in one write."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._frames = FrameReader(FRAME_BYTES_MAX)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._frames.writable()

    def buffer_updated(self, nbytes: int) -> None:
        self._frames.received(nbytes)
        answers = []
        while (frame := self._frames.next_frame()) is not None:
            answers.append(self._floor.answer(frame))
        if answers:
            self._transport.write(b"".join(answers))


async def serve(host: str, port: int, directory: Path) -> None:
    raise_descriptor_limit()
    keep_freed_memory()
    floor = Floor(host, port, directory)
    server = await asyncio.get_running_loop().create_server(lambda: FloorConnection(floor), host, port)
    gc.freeze()
    await server.serve_forever()


def main() -> None:
    host, port, directory = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(host, port, directory))


if __name__ == "__main__":
    main()
