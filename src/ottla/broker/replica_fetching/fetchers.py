"""All fetchers of this broker: which of them follows which partition.

Each leader has up to `num.replica.fetchers` fetchers, and a partition always belongs to the same of them, so that a
topic's partitions share the work. A fetcher exists while it has partitions. What the image says about a partition is
applied by the `ReplicaManager` first; here the fetchers are told to look.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TypeAlias
from zlib import crc32

from ottla.broker.host import Host
from ottla.broker.peers import Purpose, replica_fetch
from ottla.broker.replica_fetching.fetcher import FetchSettings, FollowedPartitions, ReplicaFetcher
from ottla.broker.tasks import Tasks
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicIdPartition

# A leader, and which of its fetchers.
FetcherId: TypeAlias = tuple[int, int]
# Asks a broker, over the connection for a purpose.
SendToPeer: TypeAlias = Callable[[int, Purpose, Message], Awaitable[Message]]


class ReplicaFetchers:
    """Follows what other brokers lead."""

    def __init__(
        self,
        replicas: FollowedPartitions,
        send: SendToPeer,
        settings: FetchSettings,
        fetchers_per_leader: int,
        broker_epoch: Callable[[], int],
        host: Host,
    ) -> None:
        self._replicas = replicas
        self._send = send
        self._settings = settings
        self._fetchers_per_leader = fetchers_per_leader
        self._broker_epoch = broker_epoch
        self._host = host
        self._tasks = Tasks()
        self._fetchers: dict[FetcherId, tuple[ReplicaFetcher, asyncio.Task[None]]] = {}
        # By topic id and partition index.
        self._places: dict[bytes, dict[int, FetcherId]] = {}
        self._is_started = False
        self.appended_bytes = 0

    def __iter__(self) -> Iterator[ReplicaFetcher]:
        return iter([fetcher for fetcher, _ in self._fetchers.values()])

    def start(self, image: ClusterImage) -> None:
        """Follows everything that the image says this broker follows; before, changes of the image are ignored."""
        self._is_started = True
        for topic in sorted(image.topics, key=lambda topic: topic.name):
            for index in sorted(topic.partitions):
                self._place(image, (topic.id, index))

    def apply(self, delta: ImageDelta, image: ClusterImage) -> None:
        """Takes over a change of the image, once the partitions have it."""
        if not self._is_started:
            return
        for topic_id in delta.deleted_topics:
            for index in list(self._places.get(topic_id, ())):
                self._move((topic_id, index), None)
        for key in sorted(delta.changed_partitions):
            self._place(image, key)
        self._end_idle()

    def resize(self, fetchers_per_leader: int, image: ClusterImage) -> None:
        """`num.replica.fetchers` may have changed: partitions move to the fetchers that are theirs now."""
        if fetchers_per_leader == self._fetchers_per_leader:
            return
        self._fetchers_per_leader = fetchers_per_leader
        for topic_id, indexes in list(self._places.items()):
            for index in list(indexes):
                self._place(image, (topic_id, index))
        self._end_idle()

    async def close(self) -> None:
        """Ends every fetcher, and what is under way in it; none is started any more."""
        self._is_started = False
        fetchers = [fetcher for fetcher, _ in self._fetchers.values()]
        self._fetchers.clear()
        self._places.clear()
        await self._tasks.cancel_all()
        for fetcher in fetchers:
            await fetcher.close()

    def _place(self, image: ClusterImage, key: TopicIdPartition) -> None:
        state = image.topics.partition(*key)
        own_id = self._replicas.broker_id
        if state is None or state.leader in (-1, own_id) or own_id not in state.replicas:
            self._move(key, None)
        else:
            self._move(key, (state.leader, self._number_of(key)))

    def _number_of(self, key: TopicIdPartition) -> int:
        topic_id, index = key
        return (crc32(topic_id) + index) % self._fetchers_per_leader

    def _move(self, key: TopicIdPartition, place: FetcherId | None) -> None:
        topic_id, index = key
        places = self._places.setdefault(topic_id, {})
        old = places.get(index)
        if old is not None and old != place:
            del places[index]
            self._fetchers[old][0].remove(key)
        if place is not None:
            places[index] = place
            self._fetcher(place).add(key)
        elif not places:
            del self._places[topic_id]

    def _fetcher(self, place: FetcherId) -> ReplicaFetcher:
        known = self._fetchers.get(place)
        if known is not None:
            return known[0]
        leader_id, number = place
        fetcher = ReplicaFetcher(
            leader_id,
            partial(self._send, leader_id, replica_fetch(number)),
            self._settings,
            self._replicas,
            self._broker_epoch,
            self._host,
            self._count,
        )
        task = self._tasks.start_background(f"fetcher {number} of broker {leader_id}", fetcher.run())
        self._fetchers[place] = fetcher, task
        return fetcher

    def _count(self, fetched_bytes: int) -> None:
        self.appended_bytes += fetched_bytes

    def _end_idle(self) -> None:
        for place, (fetcher, task) in list(self._fetchers.items()):
            if not len(fetcher.plan):
                del self._fetchers[place]
                task.cancel()
