"""Several brokers' partitions in one process, joined by their real handlers, fetchers and deciders, without a network.

The controller is a test's image: it decides with the real deciders, and each broker applies what was decided when its
turn comes. Requests between brokers pass through the codec.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from immutables import Map

from harness.waiting import eventually_async
from ottla.broker.controller.controller import RequestOrigin
from ottla.broker.disks.directory_moves import DirectoryMoves
from ottla.broker.handlers import k00_produce, k01_fetch, k02_list_offsets, k21_delete_records
from ottla.broker.host import Machine
from ottla.broker.in_sync_changes import InSyncChanges
from ottla.broker.network.response_budget import ResponseBudget
from ottla.broker.peers import PeerUnavailable, Purpose
from ottla.broker.replica_fetching.fetcher import FetchSettings
from ottla.broker.replica_fetching.fetchers import ReplicaFetchers
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.request_context import RequestContext
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.controller.alter_partition import alter_partition
from ottla.metadata.controller.brokers import fence_broker, unfence_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.image import BrokerImage, ClusterImage, ImageDelta, PartitionState
from ottla.metadata.image.builder import apply_records
from ottla.protocol.codec import decode, encode
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest
from ottla.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchResponse
from ottla.protocol.messages.list_offsets_request import ListOffsetsRequest
from ottla.protocol.messages.list_offsets_response import ListOffsetsResponse
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message
from ottla.replication.fetch_session import FetchSessionCache
from ottla.replication.partition import Partition
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

TOPIC, TOPIC_ID = "orders", b"id of the orders"
LISTENER = "BETWEEN"
_ANSWERS: dict[type[Message], tuple[Any, type[Message]]] = {
    FetchRequest: (k01_fetch, FetchResponse),
    ListOffsetsRequest: (k02_list_offsets, ListOffsetsResponse),
}
SETTINGS = FetchSettings(
    partition_max_bytes=1024 * 1024, response_max_bytes=10 * 1024 * 1024, min_bytes=1, wait_max_ms=20, backoff_ms=100
)


class JoinedBroker:
    """One broker: its partitions, and what keeps them in sync."""

    def __init__(self, cluster: JoinedBrokers, broker_id: int, home: Path, directories: int) -> None:
        self.id = broker_id
        self.epoch = 100 + broker_id
        self.image = ClusterImage()
        self.cluster = cluster
        paths = [home / f"broker-{broker_id}-{number}" for number in range(directories)]
        for path in paths:
            path.mkdir(exist_ok=True)
        self.logs = LogManager([LogDirectory(OsFileSystem(path)) for path in paths])
        self.replicas = ReplicaManager(broker_id, self.logs, lambda *_: cluster.log_config, Machine())
        self.replicas.replica_lag_time_max_ms = cluster.lag_time_max_ms
        self.moves = DirectoryMoves(self.replicas)
        self.sessions = FetchSessionCache(100, 120_000, lambda: self.replicas.host.random_below(2**31 - 1))
        self.tasks = Tasks()
        self.in_sync = InSyncChanges(
            self.replicas, self.sessions, cluster, lambda: self.epoch, self.tasks, self.replicas.host
        )
        self.fetchers = ReplicaFetchers(self.replicas, self.send, SETTINGS, 2, lambda: self.epoch, self.replicas.host)
        self.services = SimpleNamespace(
            replicas=self.replicas,
            host=self.replicas.host,
            config=BrokerConfig({"node.id": str(broker_id)}),
            data_path=SimpleNamespace(fetch_sessions=self.sessions, response_budget=ResponseBudget()),
            image=self.image,
        )

    @property
    def partition(self) -> Partition:
        return self.replicas.partition(TOPIC, 0)

    async def start(self, image: ClusterImage) -> None:
        self.services.image = self.image = image
        self.logs.load(lambda _: self.cluster.log_config, recovery_threads=1, now_ms=0)
        await self.replicas.apply_all(image)
        self.fetchers.start(image)

    async def apply(self, delta: ImageDelta, image: ClusterImage) -> None:
        self.services.image = self.image = image
        await self.replicas.apply(delta, image)
        self.fetchers.apply(delta, image)

    def context(self, api_key: int, version: int) -> RequestContext:
        return RequestContext(api_key, version, "test", "host", LISTENER, "User:ANONYMOUS", cast(Any, self.services))

    async def handle(self, handler: Any, request: Message, version: int) -> Any:
        response = handler.handle(self.context(request.API_KEY, version), request)
        return await response if inspect.isawaitable(response) else response

    async def produce(self, batch: bytes, acks: int = -1, timeout_ms: int = 10_000, index: int = 0) -> tuple[int, int]:
        """Error code and base offset."""
        data = TopicProduceData(topic_id=TOPIC_ID, partition_data=[PartitionProduceData(index=index, records=batch)])
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data])
        row = (await self.handle(k00_produce, request, 13)).responses[0].partition_responses[0]
        return row.error_code, row.base_offset

    async def delete_records(self, offset: int, timeout_ms: int = 10_000) -> tuple[int, int]:
        """Error code and low watermark."""
        topic = DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=timeout_ms)
        row = (await self.handle(k21_delete_records, request, 2)).topics[0].partitions[0]
        return row.error_code, row.low_watermark

    async def send(self, broker_id: int, purpose: Purpose, request: Message) -> Message:
        """Asks another broker, as `Peers` does."""
        del purpose
        peer = self.cluster.brokers.get(broker_id)
        if peer is None or self.id in self.cluster.cut_off or broker_id in self.cluster.cut_off:
            raise PeerUnavailable(broker_id, "it is cut off")
        handler, response_class = _ANSWERS[type(request)]
        version = request.VERSIONS.stop - (2 if request.LATEST_VERSION_UNSTABLE else 1)
        received = decode(type(request), encode(request, version), version)
        self.cluster.sent.append(received)
        response = await peer.handle(handler, received, version)
        if self.id in self.cluster.cut_off or broker_id in self.cluster.cut_off:
            raise PeerUnavailable(broker_id, "it is cut off")
        return decode(response_class, encode(response, version), version)

    async def stop(self) -> None:
        await self.fetchers.close()
        await self.tasks.cancel_all()
        await asyncio.to_thread(self.moves.stop)
        for threads in self.replicas.threads.values():
            await asyncio.to_thread(threads.stop)
            threads.directory.take_offline()


class JoinedBrokers:
    """Brokers 1 to n, which have replicas of every partition of one topic, and their controller."""

    def __init__(self, home: Path, count: int = 3, *, partitions: int = 1, directories: int = 1) -> None:
        self.home = home
        self.directories = directories
        self.log_config = LogConfig()
        self.lag_time_max_ms = 30_000
        self.rules = ElectionRules()
        self.cut_off: set[int] = set()
        self.sent: list[Message] = []
        self.brokers: dict[int, JoinedBroker] = {}
        self._count = count
        ids = tuple(range(1, count + 1))
        records: list[Message] = [TopicRecord(name=TOPIC, topic_id=TOPIC_ID)]
        records += [
            PartitionRecord(
                partition_id=index,
                topic_id=TOPIC_ID,
                replicas=ids,
                isr=ids,
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[bytes(16)] * count,
            )
            for index in range(partitions)
        ]
        self.image, _ = apply_records(ClusterImage(), records, end_offset=0, epoch=0)
        for broker_id in ids:
            self._register(broker_id, 100 + broker_id)

    @property
    def state(self) -> PartitionState:
        found = self.image.topics.partition(TOPIC_ID, 0)
        assert found is not None
        return found

    def _register(self, broker_id: int, epoch: int) -> None:
        broker = BrokerImage(broker_id, epoch, bytes(16), (), Map(), None, False, False, ())
        self.image = replace(self.image, brokers=self.image.brokers.with_broker(broker))

    async def start(self) -> None:
        for broker_id in range(1, self._count + 1):
            await self.start_broker(broker_id)

    async def start_broker(self, broker_id: int) -> JoinedBroker:
        broker = self.brokers[broker_id] = JoinedBroker(self, broker_id, self.home, self.directories)
        await broker.start(self.image)
        return broker

    async def stop_broker(self, broker_id: int) -> None:
        await self.brokers.pop(broker_id).stop()

    async def restart(self, broker_id: int) -> JoinedBroker:
        """Another life of the broker, with another epoch."""
        epoch = 100 + self.brokers[broker_id].epoch
        await self.stop_broker(broker_id)
        self._register(broker_id, epoch)
        delta = ImageDelta(changed_brokers={broker_id})
        for other in self.brokers.values():
            await other.apply(delta, self.image)
        broker = self.brokers[broker_id] = JoinedBroker(self, broker_id, self.home, self.directories)
        broker.epoch = epoch
        await broker.start(self.image)
        return broker

    async def stop(self) -> None:
        for broker_id in list(self.brokers):
            await self.stop_broker(broker_id)

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """What the controller answers, once it and the brokers have the change."""
        assert isinstance(request, AlterPartitionRequest)
        self.sent.append(request)
        decision = alter_partition(self.image, request, api_version=origin.api_version, rules=self.rules)
        await self.commit(decision.records)
        return decision.response

    async def commit(self, records: Any) -> None:
        self.image, delta = apply_records(self.image, records, end_offset=0, epoch=0)
        for broker in list(self.brokers.values()):
            if broker.id not in self.cut_off:
                await broker.apply(delta, self.image)

    async def elect(self, leader: int, in_sync: tuple[int, ...] | None = None, index: int = 0) -> None:
        """Makes a broker the leader, in another epoch."""
        record = PartitionChangeRecord(
            partition_id=index, topic_id=TOPIC_ID, leader=leader, isr=None if in_sync is None else list(in_sync)
        )
        await self.commit([record])

    async def fence(self, broker_id: int) -> None:
        broker = self.image.brokers.get(broker_id)
        assert broker is not None
        await self.commit(fence_broker(self.image, broker_id, broker.epoch, rules=self.rules).records)

    async def unfence(self, broker_id: int) -> None:
        broker = self.image.brokers.get(broker_id)
        assert broker is not None
        await self.commit(unfence_broker(self.image, broker_id, broker.epoch, rules=self.rules).records)

    async def mend(self, broker_id: int) -> None:
        """A broker that was cut off reaches the others, and hears what it has missed."""
        self.cut_off.discard(broker_id)
        topic = self.image.topics.by_id(TOPIC_ID)
        assert topic is not None
        missed = {(TOPIC_ID, index) for index in topic.partitions}
        delta = ImageDelta(changed_partitions=missed, changed_brokers=set(self.brokers))
        await self.brokers[broker_id].apply(delta, self.image)

    async def until_equal(self) -> None:
        """Waits until the logs of all brokers are equal, byte for byte, and so are their watermarks."""

        def is_equal() -> bool:
            logs = [contents(broker.partition) for broker in self.brokers.values()]
            marks = {broker.partition.log.high_watermark for broker in self.brokers.values()}
            end_offset = self.brokers[self.state.leader].partition.log.log_end_offset
            return all(log == logs[0] for log in logs) and marks == {end_offset}

        await until(is_equal)


async def until(is_so: Callable[[], bool]) -> None:
    """Waits until it is so; fails after half a minute."""

    async def look() -> bool:
        return is_so()

    await eventually_async(look)


def contents(partition: Partition) -> bytes:
    """All that is in the log of a partition."""
    log = partition.log
    found = b""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(
            offset, 1 << 30, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True
        )
        found += bytes(read.records)
        offset = read.next_offset
    return found


def run_joined(cluster: JoinedBrokers, scenario: Callable[[JoinedBrokers], Awaitable[None]]) -> None:
    """Starts the brokers, plays a scenario, stops them."""

    async def play() -> None:
        await cluster.start()
        try:
            await scenario(cluster)
        finally:
            await cluster.stop()

    asyncio.run(play())
