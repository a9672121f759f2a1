"""A transaction coordinator over a log in memory, with a channel whose answers a test decides."""

import asyncio
from collections.abc import Callable
from itertools import count

from harness.hosts import ClockedMachine
from harness.watched_tasks import WatchedTasks
from ottla.broker.coordinators.internal_topic import (
    CoordinatorStore,
    InternalTopic,
    InternalTopicSpec,
    transaction_topic_spec,
)
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.coordinators.transactions.coordinator import TransactionCoordinator
from ottla.broker.coordinators.transactions.markers import MarkerWriter
from ottla.broker.peers import PeerUnavailable
from ottla.broker.producer_ids import ProducerIds
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from ottla.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from unit.broker.coordinators.groups.fakes import NODE_ID, MemoryLog, image_with

COORDINATOR_EPOCH = 3
Marker = tuple[str, int, int, bool]


class MarkerChannel(TransactionChannel):
    """Takes markers and answers as it is told."""

    def __init__(self) -> None:
        self.markers: list[Marker] = []
        self.requests: list[WriteTxnMarkersRequest] = []
        # The brokers that were asked, in the order of `requests`.
        self.asked: list[int] = []
        self.answer: Callable[[str, int], ErrorCode] = lambda _topic, _index: ErrorCode.NONE
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.dead: set[int] = set()

    async def write_markers(self, broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        self.asked.append(broker_id)
        self.requests.append(request)
        await self.is_open.wait()
        if broker_id in self.dead:
            raise PeerUnavailable(broker_id, "it is dead")
        return WriteTxnMarkersResponse(markers=[self._written(marker) for marker in request.markers])

    def _written(self, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
        topics = []
        for topic in marker.topics:
            rows = []
            for index in topic.partition_indexes:
                code = self.answer(topic.name, index)
                rows.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=code))
                if code is ErrorCode.NONE:
                    self.markers.append((topic.name, index, marker.producer_epoch, marker.transaction_result))
            topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=rows))
        return WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)


class TransactionNode:
    """A coordinator with everything around it; topic `t` has the partitions 0 and 1."""

    def __init__(
        self, log: MemoryLog | None = None, *, first_producer_id: int = 100, version: int = 2, **config: int
    ) -> None:
        self.config = TransactionConfig(**{"transaction_state_log_num_partitions": 1, **config})
        self.log = log or MemoryLog()
        self.image: ClusterImage = image_with()
        self.channel = MarkerChannel()
        self.tasks = WatchedTasks()
        self.now_ms = 1_000
        self.version = version
        self._ids = count(first_producer_id)
        self.transactions = TransactionCoordinator(
            self.config,
            CoordinatorStore(
                InternalTopic(transaction_topic_spec(self.config), lambda: self.image, self._create), self.log
            ),
            MarkerWriter(NODE_ID, self.channel, lambda: self.image, self.tasks),
            ProducerIds(self._block, self.tasks),
            self.tasks,
            ClockedMachine(lambda: self.now_ms),
            transaction_version=lambda: self.version,
        )

    async def serve(self) -> "TransactionNode":
        self.transactions.shards.become_leader(0, COORDINATOR_EPOCH)
        await self.transactions.shards.loaded()
        return self

    def state(self, transactional_id: str = "tx") -> TransactionMetadata | None:
        return self.transactions.shards.active(0).shard.get(transactional_id)

    async def background_ended(self) -> None:
        """Wait for what runs without a request."""
        await self.tasks.all_ended()

    async def stop(self) -> None:
        self.transactions.close()
        await self.tasks.cancel_all()

    async def _block(self) -> range:
        first = next(self._ids)
        return range(first, first + 1)

    async def _create(self, spec: InternalTopicSpec) -> None:
        raise AssertionError(f"{spec.name} is not asked for in these tests")
