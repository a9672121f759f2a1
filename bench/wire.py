"""A blocking connection that sends requests of the protocol as they are: what a load generator would hide is seen."""

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.codec import decode, encode
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.produce_response import ProduceResponse
from ottla.protocol.schema import Message

PRODUCE_VERSION = 9
API_VERSIONS_VERSION = 0
RETRY_S = 0.002
CALL_TIMEOUT_S = 60.0


def one_record_batch(size: int = 100, producer_id: int = -1) -> bytes:
    known = producer_id >= 0
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0 if known else -1, base_sequence=0 if known else -1)
    builder.append(None, bytes(size), timestamp_ms=int(time.time() * 1000))
    return bytes(builder.build())


def produce_request(topic: str, partitions: Sequence[int], batch: bytes, acks: int = 1) -> ProduceRequest:
    data = [PartitionProduceData(index=partition, records=batch) for partition in partitions]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


def frame(request: Message, version: int) -> bytes:
    header = struct.pack(">hhih5s", request.API_KEY, version, 0, 5, b"bench")
    if version >= request.FLEXIBLE_FROM:
        header += b"\x00"
    body = header + encode(request, version)
    return struct.pack(">i", len(body)) + body


def ping_frame() -> bytes:
    return frame(ApiVersionsRequest(), API_VERSIONS_VERSION)


class Connection:
    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=CALL_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, request: bytes) -> bytes:
        """Sends a frame and returns the answer, from its correlation id on."""
        self._socket.sendall(request)
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def produce(self, topic: str, partitions: Sequence[int], batch: bytes) -> set[int]:
        """The error codes of the partitions; {0} when all is well."""
        answer = self.exchange(frame(produce_request(topic, partitions, batch), PRODUCE_VERSION))
        response: Any = decode(ProduceResponse, answer[5:], PRODUCE_VERSION)
        return {part.error_code for topic in response.responses for part in topic.partition_responses}

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionResetError("the server closed the connection")
            data += piece
        return bytes(data)

    def close(self) -> None:
        self._socket.close()


def wait_until_accepted(port: int, topic: str, partitions: Sequence[int], timeout_s: float) -> None:
    """Tries to produce, again and again, until the server has accepted a record for each of the partitions."""
    deadline = time.monotonic() + timeout_s
    batch = one_record_batch()
    connection: Connection | None = None
    while time.monotonic() < deadline:
        try:
            connection = connection or Connection(port)
            if connection.produce(topic, partitions, batch) == {0}:
                connection.close()
                return
        except OSError:
            connection = None
        time.sleep(RETRY_S)
    raise TimeoutError(f"no accepted produce within {timeout_s:g} s")
