"""Brokers in memory, and a loop whose time is virtual: a client that works with them needs no socket and no clock."""

import asyncio
import hashlib
import selectors
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

from ottla.client import Client
from ottla.client.records import decode_records
from ottla.protocol.codec import decode_at, encode
from ottla.protocol.errors import ErrorCode
from ottla.protocol.frame import FrameReader
from ottla.protocol.header import read_request_header, response_header
from ottla.protocol.messages import list_offsets_response as listed
from ottla.protocol.messages import offset_fetch_response, produce_response
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ottla.protocol.messages.end_txn_request import EndTxnRequest
from ottla.protocol.messages.end_txn_response import EndTxnResponse
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

T = TypeVar("T")


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
        self._answers: deque[bytes] = deque()
        self._due_s = 0.0
        self._is_closed = False

    def writelines(self, parts: Iterable[Any]) -> None:
        data = b"".join(bytes(part) for part in parts)
        self._brokers.digest.update(f"{self._loop.time()} {self._port} ".encode() + data)
        while data:
            window = self._reader.writable()
            count = min(len(data), len(window))
            window[:count] = data[:count]
            window.release()
            self._reader.received(count)
            data = data[count:]
        while (frame := self._reader.next_frame()) is not None:
            delay_s, answer = self._brokers.answer(bytes(frame))
            self._brokers.arrived(self._port)
            self._answers.append(len(answer).to_bytes(4, "big") + answer)
            self._due_s = max(self._due_s, self._loop.time() + LATENCY_S + delay_s)
            self._loop.call_at(self._due_s, self._deliver)

    def _deliver(self) -> None:
        # In order, even if two are due at once: a loop does not say which of two timers goes first.
        data = self._answers.popleft()
        self._brokers.left(self._port)
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
    """Three brokers with one memory; `errors` are the answers to the next requests of a kind, one for each."""

    def __init__(self, *, refuses_first_batches: bool = False) -> None:
        self.digest = hashlib.sha256()
        self.requests: list[Message] = []
        self.values: dict[tuple[str, int], list[bytes | None]] = {}
        self.errors: dict[type[Message], list[ErrorCode]] = {}
        self.most_at_once = 0
        self._at_once: Counter[int] = Counter()
        self._refuses_first_batches = refuses_first_batches
        self._refused: set[tuple[bytes, int]] = set()
        self._answers: dict[type[Message], Callable[[Any], Message]] = {
            ApiVersionsRequest: self._versions,
            MetadataRequest: self._metadata,
            InitProducerIdRequest: self._init_producer_id,
            ProduceRequest: self._produce,
            FetchRequest: self._fetch,
            ListOffsetsRequest: self._list_offsets,
            FindCoordinatorRequest: self._coordinator,
            OffsetFetchRequest: self._offsets,
            EndTxnRequest: self._end,
        }
        self._classes = {request.API_KEY: request for request in self._answers}
        self._flexible_from = {request.API_KEY: request.FLEXIBLE_FROM for request in self._answers}

    def answer(self, frame: bytes) -> tuple[float, bytes]:
        """How long it takes, and the frame without its length."""
        header = read_request_header(frame, self._flexible_from)
        cls = self._classes[header.api_key]
        request = decode_at(cls, frame, header.api_version, header.body_position)[0]
        self.requests.append(request)
        is_flexible = header.api_version >= cls.FLEXIBLE_FROM
        head = response_header(header.api_key, header.correlation_id, is_flexible=is_flexible)
        delay_s = request.max_wait_ms / 1000 if isinstance(request, FetchRequest) else 0.0
        return delay_s, head + encode(self._answers[cls](request), header.api_version)

    def arrived(self, port: int) -> None:
        """A request waits for its answer."""
        self._at_once[port] += 1
        self.most_at_once = max(self.most_at_once, self._at_once[port])

    def left(self, port: int) -> None:
        """An answer has gone."""
        self._at_once[port] -= 1

    def kinds(self) -> list[type[Message]]:
        """The kinds of requests in their order, each once where several of a kind follow each other."""
        kinds = [type(request) for request in self.requests]
        return [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind is not before]

    def _next_error(self, kind: type[Message]) -> ErrorCode:
        planned = self.errors.get(kind)
        return planned.pop(0) if planned else ErrorCode.NONE

    def _init_producer_id(self, _: InitProducerIdRequest) -> Message:
        error = self._next_error(InitProducerIdRequest)
        return InitProducerIdResponse(error_code=error, producer_id=7, producer_epoch=0)

    def _end(self, request: EndTxnRequest) -> Message:
        error = self._next_error(EndTxnRequest)
        return EndTxnResponse(error_code=error, producer_id=7, producer_epoch=request.producer_epoch + 1)

    def _versions(self, _: ApiVersionsRequest) -> Message:
        rows = [
            ApiVersion(api_key=cls.API_KEY, min_version=cls.VERSIONS.start, max_version=cls.VERSIONS.stop - 1)
            for cls in self._answers
        ]
        feature = "transaction.version"
        return ApiVersionsResponse(
            api_keys=rows,
            supported_features=[SupportedFeatureKey(name=feature, max_version=2)],
            finalized_features=[FinalizedFeatureKey(name=feature, min_version_level=2, max_version_level=2)],
            finalized_features_epoch=1,
        )

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
                            index=row.index, error_code=self._write(bytes(topic.topic_id), row.index, row.records)
                        )
                        for row in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )

    def _write(self, topic_id: bytes, partition: int, records: Any) -> ErrorCode:
        if self._refuses_first_batches and (topic_id, partition) not in self._refused:
            self._refused.add((topic_id, partition))
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        (topic,) = (name for name in TOPICS if _topic_id(name) == topic_id)
        found = [record.value for record in decode_records(topic, partition, records)]
        self.values.setdefault((topic, partition), []).extend(found)
        return ErrorCode.NONE

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


async def with_client(work: Callable[[Client], Awaitable[T]]) -> T:
    async with Client([f"broker:{number}" for number in BROKERS]) as client:
        return await work(client)


def run(brokers: Brokers, work: Callable[[Client], Awaitable[T]]) -> T:
    """What the work with a client of these brokers returns."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(brokers)) as runner:
        return runner.run(with_client(work))
