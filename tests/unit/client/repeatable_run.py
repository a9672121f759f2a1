"""A client at work in a world without sockets and clocks: run as a module, it prints a digest of every byte it sent.

The loop's time is virtual, and its connections lead to brokers in memory. Each refuses a partition's first batch, so
that the client has reason to look for leaders and to wait by chance.
"""

import asyncio
import hashlib
import random
import selectors
import sys
from collections.abc import Callable, Iterable
from typing import Any, cast

from ottla.client import Client, ClientSettings, ConsumerSettings, GroupSettings, OffsetReset, TopicPartition
from ottla.client.machine import Machine
from ottla.protocol.codec import decode_at, encode
from ottla.protocol.errors import ErrorCode
from ottla.protocol.frame import FrameReader
from ottla.protocol.header import read_request_header, response_header
from ottla.protocol.messages import list_offsets_response as listed
from ottla.protocol.messages import offset_fetch_response, produce_response
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.init_producer_id_response import InitProducerIdResponse
from ottla.protocol.messages.list_offsets_request import ListOffsetsRequest
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequest
from ottla.protocol.messages.produce_request import ProduceRequest
from ottla.protocol.schema import Message

BROKERS = (1, 2, 3)
TOPICS = tuple(f"topic-{letter}" for letter in "abcdefgh")
PARTITIONS = range(3)
LATENCY_S = 0.001
START_MS = 1_700_000_000_000


class _NoWait(selectors.DefaultSelector):
    """Whoever would wait for a time finds that it has come."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits for something that will never come")
        self.now_s += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time passes when nothing is left to do; connections lead to brokers in memory."""

    def __init__(self, brokers: "Brokers") -> None:
        self._instant = _NoWait()
        super().__init__(self._instant)
        self._brokers = brokers

    def time(self) -> float:
        return self._instant.now_s

    async def create_connection(  # type: ignore[override]
        self, factory: Callable[[], asyncio.BufferedProtocol], _host: str, port: int, **_options: object
    ) -> tuple[asyncio.Transport, asyncio.BufferedProtocol]:
        await asyncio.sleep(LATENCY_S)
        protocol = factory()
        transport = _MemoryTransport(self, protocol, port, self._brokers)
        protocol.connection_made(transport)
        return transport, protocol


class _MemoryTransport(asyncio.Transport):
    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: asyncio.BufferedProtocol, port: int, brokers: "Brokers"
    ) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._port = port
        self._brokers = brokers
        self._reader = FrameReader(1 << 24)
        self._is_closed = False

    def writelines(self, parts: Iterable[Any]) -> None:
        data = b"".join(bytes(part) for part in parts)
        self._brokers.digest.update(self._port.to_bytes(4, "big") + data)
        while data:
            window = self._reader.writable()
            count = min(len(data), len(window))
            window[:count] = data[:count]
            window.release()
            self._reader.received(count)
            data = data[count:]
        while (frame := self._reader.next_frame()) is not None:
            delay_s, answer = self._brokers.answer(bytes(frame))
            self._loop.call_later(LATENCY_S + delay_s, self._deliver, len(answer).to_bytes(4, "big") + answer)

    def _deliver(self, data: bytes) -> None:
        while data and not self._is_closed:
            window = self._protocol.get_buffer(len(data))
            count = min(len(data), len(window))
            cast(memoryview, window)[:count] = data[:count]
            self._protocol.buffer_updated(count)
            data = data[count:]

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close


class Brokers:
    """Three brokers with one memory."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._refused: set[tuple[bytes, int]] = set()
        self._answers: dict[type[Message], Callable[[Any], Message]] = {
            ApiVersionsRequest: self._versions,
            MetadataRequest: self._metadata,
            InitProducerIdRequest: lambda _: InitProducerIdResponse(producer_id=7, producer_epoch=0),
            ProduceRequest: self._produce,
            FetchRequest: self._fetch,
            ListOffsetsRequest: self._list_offsets,
            FindCoordinatorRequest: self._coordinator,
            OffsetFetchRequest: self._offsets,
        }
        self._classes = {request.API_KEY: request for request in self._answers}
        self._flexible_from = {request.API_KEY: request.FLEXIBLE_FROM for request in self._answers}

    def answer(self, frame: bytes) -> tuple[float, bytes]:
        """How long it takes, and the frame without its length."""
        header = read_request_header(frame, self._flexible_from)
        cls = self._classes[header.api_key]
        request = decode_at(cls, frame, header.api_version, header.body_position)[0]
        is_flexible = header.api_version >= cls.FLEXIBLE_FROM
        head = response_header(header.api_key, header.correlation_id, is_flexible=is_flexible)
        delay_s = request.max_wait_ms / 1000 if isinstance(request, FetchRequest) else 0.0
        return delay_s, head + encode(self._answers[cls](request), header.api_version)

    def _versions(self, _: ApiVersionsRequest) -> Message:
        rows = [
            ApiVersion(api_key=cls.API_KEY, min_version=cls.VERSIONS.start, max_version=cls.VERSIONS.stop - 1)
            for cls in self._answers
        ]
        return ApiVersionsResponse(api_keys=rows)

    def _metadata(self, request: MetadataRequest) -> Message:
        return MetadataResponse(
            cluster_id="cluster",
            controller_id=1,
            brokers=[MetadataResponseBroker(node_id=number, host="broker", port=number) for number in BROKERS],
            topics=[
                MetadataResponseTopic(
                    name=row.name,
                    topic_id=_topic_id(row.name or ""),
                    partitions=[
                        MetadataResponsePartition(partition_index=number, leader_id=BROKERS[number], leader_epoch=1)
                        for number in PARTITIONS
                    ],
                )
                for row in request.topics or ()
            ],
        )

    def _produce(self, request: ProduceRequest) -> Message:
        return produce_response.ProduceResponse(
            responses=[
                produce_response.TopicProduceResponse(
                    topic_id=topic.topic_id,
                    partition_responses=[
                        produce_response.PartitionProduceResponse(
                            index=row.index, error_code=self._first_refusal(bytes(topic.topic_id), row.index)
                        )
                        for row in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )

    def _first_refusal(self, topic_id: bytes, partition: int) -> int:
        if (topic_id, partition) in self._refused:
            return ErrorCode.NONE
        self._refused.add((topic_id, partition))
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    @staticmethod
    def _fetch(request: FetchRequest) -> Message:
        return FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic_id=topic.topic_id,
                    partitions=[PartitionData(partition_index=row.partition) for row in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    @staticmethod
    def _list_offsets(request: ListOffsetsRequest) -> Message:
        return listed.ListOffsetsResponse(
            topics=[
                listed.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        listed.ListOffsetsPartitionResponse(partition_index=row.partition_index, offset=0)
                        for row in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    @staticmethod
    def _coordinator(request: FindCoordinatorRequest) -> Message:
        row = Coordinator(key=request.coordinator_keys[0], node_id=2, host="broker", port=2)
        return FindCoordinatorResponse(coordinators=[row])

    @staticmethod
    def _offsets(request: OffsetFetchRequest) -> Message:
        topics = [
            offset_fetch_response.OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    offset_fetch_response.OffsetFetchResponsePartitions(partition_index=number, committed_offset=-1)
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.groups[0].topics or ()
        ]
        group = offset_fetch_response.OffsetFetchResponseGroup(group_id="g", topics=topics)
        return offset_fetch_response.OffsetFetchResponse(groups=[group])


def _topic_id(name: str) -> bytes:
    return hashlib.md5(name.encode(), usedforsecurity=False).digest()


async def work(settings: ClientSettings) -> None:
    """Produce without keys to many topics, then read them as a member of a group that has committed nothing."""
    async with Client([f"broker:{number}" for number in BROKERS], settings) as client:
        async with client.producer() as producer:
            for number in range(20):
                for topic in TOPICS:
                    await producer.send(topic, b"%d" % number * 100)
                await asyncio.sleep(0.002)
        reading = ConsumerSettings(offset_reset=OffsetReset.EARLIEST, auto_commit=False)
        async with client.consumer(reading, GroupSettings("g")) as consumer:
            consumer.assign({TopicPartition(topic, number) for topic in TOPICS for number in PARTITIONS})
            await consumer.poll(timeout_ms=1200)


def digest_of_run(seed: int) -> str:
    """All requests of a run, with their ports and in their order."""
    brokers = Brokers()
    loop = VirtualLoop(brokers)
    chance = random.Random(seed)
    machine = Machine(chance.random, lambda: START_MS + int(loop.time() * 1000), chance.randbytes)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work(ClientSettings(machine=machine)))
    return brokers.digest.hexdigest()


if __name__ == "__main__":
    print(digest_of_run(int(sys.argv[1])))
