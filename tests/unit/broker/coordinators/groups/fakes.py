"""A log in memory behind the coordinator's interface, a hand-driven clock, and an image with the offsets topic."""

import asyncio
from collections.abc import Iterator

from immutables import Map

from harness.watched_tasks import WatchedTasks
from ottla.broker.coordinators.groups import GroupConfig, GroupCoordinator
from ottla.broker.coordinators.internal_topic import (
    OFFSETS_TOPIC,
    CoordinatorStore,
    InternalTopic,
    InternalTopicSpec,
    offsets_topic_spec,
)
from ottla.broker.coordinators.partition_log import CoordinatorLog
from ottla.broker.host import Machine
from ottla.metadata.image import BrokerImage, ClusterImage, Endpoint, PartitionState, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import PLACEMENT, parse_header
from ottla.storage.log import AppendInfo
from ottla.storage.transaction_verification import VerificationGuard

NODE_ID = 7
TOPIC_ID = b"topic-id-of-t-00"


class MemoryLog(CoordinatorLog):
    """Appends commit at once, unless they are held."""

    def __init__(self) -> None:
        self.batches: dict[int, list[bytearray]] = {}
        self.next_offset: dict[int, int] = {}
        self.error: ErrorCode | None = None
        # What it says to each append to come, before it says `error` to all others.
        self.next_errors: list[ErrorCode | None] = []
        self.holds_commits = False
        self.is_led_here = True
        self._waiting: list[asyncio.Future[None]] = []
        self._is_waited_for = asyncio.Event()

    def append(
        self,
        partition: int,
        batch: bytes | bytearray,
        *,
        leader_epoch: int = 0,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        error = self.next_errors.pop(0) if self.next_errors else self.error
        if error is not None:
            raise ApiError(error)
        base = self.next_offset.get(partition, 0)
        placed = bytearray(batch)
        PLACEMENT.pack_into(placed, 0, base, parse_header(placed).batch_length, 0)
        self.batches.setdefault(partition, []).append(placed)
        self.next_offset[partition] = parse_header(placed).next_offset
        return AppendInfo(base, self.next_offset[partition] - 1, leader_epoch, -1, -1, 0, is_duplicate=False)

    async def is_still_led(self, partition: int, leader_epoch: int) -> bool:
        return self.is_led_here

    def is_committed(self, partition: int, appended: AppendInfo) -> bool:
        return not self.holds_commits

    async def wait_committed(self, partition: int, appended: AppendInfo) -> None:
        if self.holds_commits:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            self._is_waited_for.set()
            await waiting

    async def waited_for(self) -> None:
        """Until what is held is waited for."""
        while not self._waiting:
            self._is_waited_for.clear()
            await self._is_waited_for.wait()

    async def wait_settled(self, partition: int, leader_epoch: int) -> None:
        pass

    async def wait_all_committed(self, partition: int, leader_epoch: int) -> None:
        pass

    def is_surely_empty(self, partition: int) -> bool:
        return partition not in self.batches

    def read_batches(self, partition: int) -> Iterator[memoryview]:
        for batch in self.batches.get(partition, []):
            yield memoryview(batch)

    def lose_last(self, partition: int) -> None:
        """What was appended last, and taken for appended, is not there after all."""
        self.batches[partition].pop()
        self.release(ErrorCode.KAFKA_STORAGE_ERROR)

    def release(self, error: ErrorCode | None = None) -> None:
        """Let everything commit that is held, or fail it."""
        self.holds_commits = False
        self.is_led_here = error is not ErrorCode.NOT_LEADER_OR_FOLLOWER
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(ApiError(error))


def partition_state(leader: int = NODE_ID) -> PartitionState:
    return PartitionState((NODE_ID,), (bytes(16),), (NODE_ID,), leader, 0, 0)


def image_with(*, offsets_partitions: int = 1, leader: int = NODE_ID) -> ClusterImage:
    """Topic `t` with two partitions, this broker, and the offsets topic unless it has no partitions."""
    image = ClusterImage()
    topics = image.topics.with_topic(TopicImage("t", TOPIC_ID, Map({0: partition_state(), 1: partition_state()})))
    if offsets_partitions:
        states = {number: partition_state(leader) for number in range(offsets_partitions)}
        topics = topics.with_topic(TopicImage(OFFSETS_TOPIC, b"o" * 16, Map(states)))
    broker = BrokerImage(NODE_ID, 1, bytes(16), (Endpoint("L", "host", 9),), Map(), None, False, False, ())
    return ClusterImage(topics=topics, brokers=image.brokers.with_broker(broker))


class Node:
    """A group coordinator with everything around it."""

    def __init__(self, log: MemoryLog | None = None, *, image: ClusterImage | None = None, **config: int) -> None:
        self.config = GroupConfig(**{"group_initial_rebalance_delay_ms": 0, **config})
        self.log = log or MemoryLog()
        self.image = image or image_with()
        self.created: list[InternalTopicSpec] = []
        self.creation_error: ErrorCode | None = None
        self.tasks = WatchedTasks()
        self.topic = InternalTopic(offsets_topic_spec(self.config), lambda: self.image, self._create)
        self.groups = GroupCoordinator(self.config, CoordinatorStore(self.topic, self.log), self.tasks, Machine())

    async def serve(self, partitions: int = 1) -> "Node":
        for partition in range(partitions):
            self.groups.shards.become_leader(partition, 0)
        await self.groups.shards.loaded()
        return self

    async def background_ended(self) -> None:
        """Wait for what runs without a request: commits that nobody waits for."""
        await self.tasks.all_ended()

    async def stop(self) -> None:
        self.groups.close()
        await self.tasks.cancel_all()

    async def _create(self, spec: InternalTopicSpec) -> None:
        await asyncio.sleep(0)
        self.created.append(spec)
        if self.creation_error is not None:
            raise ApiError(self.creation_error)
        self.image = image_with(offsets_partitions=spec.partition_count)
