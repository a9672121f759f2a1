"""Where requests wait: Produce for replicas and syncs, Fetch for data, DeleteRecords for replicas.

A waiting request watches its partitions, and is checked again when one of them moves or when its time is up. Data wakes
it, never a poll: the latency of a long poll is that of the append. Waiting ends in the next turn of the event loop, so
that the answer to a producer goes out before those to the consumers that its records woke.
"""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from ottla.replication.partition import ACKS_ALL, Partition
from ottla.replication.watchers import NOT_URGENT, Interest, Watcher
from ottla.storage.log import AppendInfo

Place = TypeVar("Place", bound=Hashable)


class Watch(Generic[Place]):
    """Notes which of some partitions moved, until it is closed.

    Watching begins with `add`, not with the await: a caller that adds a partition and reads it in the same turn of the
    loop misses nothing. While nobody waits, a partition that moved is noted once and then ignored, until it is added
    again or somebody waits. So a session whose client is gone costs appends nothing.
    """

    __slots__ = ("_bytes", "_is_hurried", "_moved", "_must_look", "_resting", "_waiting", "_watchers", "interest")

    def __init__(self, interest: Interest = Interest.VISIBLE) -> None:
        self.interest = interest
        self._moved: dict[Place, None] = {}
        self._bytes = 0
        self._must_look = False
        self._is_hurried = False
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._watchers: dict[Place, tuple[Partition, Watcher]] = {}
        self._resting: dict[Place, None] = {}

    def add(self, place: Place, partition: Partition) -> None:
        """Watches a partition under the caller's name for it."""
        known = self._watchers.get(place)
        if known is not None:
            if known[0] is partition:
                self._rouse(place)
                return
            known[0].unwatch(known[1])
            self._resting.pop(place, None)
        watcher = partial(self._note, place)
        partition.watch(watcher, self.interest)
        self._watchers[place] = partition, watcher

    def remove(self, place: Place) -> None:
        """Stops watching a partition."""
        known = self._watchers.pop(place, None)
        if known is not None:
            known[0].unwatch(known[1])
            self._resting.pop(place, None)

    def take(self) -> list[Place]:
        """The partitions that moved since the last call."""
        moved, self._moved = list(self._moved), {}
        self._bytes = 0
        self._must_look = False
        return moved

    async def moved(self, bytes_needed: int, timeout_ms: int) -> list[Place]:
        """The partitions that moved since the last call.

        Returns once this many new bytes are readable in all of them together, one moved for another reason (leadership
        lost, records deleted), or time is up.
        """
        if self._bytes < bytes_needed and not self._must_look:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()
            self._waiting[future] = bytes_needed
            for place in tuple(self._resting):
                self._rouse(place)
            timer = loop.call_later(timeout_ms / 1000, _wake, future)
            try:
                await future
            finally:
                timer.cancel()
                del self._waiting[future]
        return self.take()

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for a move."""
        return bool(self._waiting)

    def hurry(self) -> None:
        """Ends the wait of whoever waits now, though nothing moved."""
        for future in self._waiting:
            self._is_hurried = True
            _wake(future)

    def take_hurry(self) -> bool:
        """Whether the wait that ended last was ended by `hurry`."""
        was_hurried, self._is_hurried = self._is_hurried, False
        return was_hurried

    def close(self) -> None:
        """Stops watching."""
        for partition, watcher in self._watchers.values():
            partition.unwatch(watcher)
        self._watchers.clear()
        self._resting.clear()

    def _rouse(self, place: Place) -> None:
        if place in self._resting:
            del self._resting[place]
            partition, watcher = self._watchers[place]
            partition.watch(watcher, self.interest)

    def _note(self, place: Place, readable_bytes: int) -> None:
        self._moved[place] = None
        if readable_bytes == NOT_URGENT:
            # No reason to rest: a follower's own fetch moves the watermark, just before it begins to wait.
            return
        self._bytes += readable_bytes
        self._must_look |= readable_bytes == 0
        if not self._waiting:
            partition, watcher = self._watchers[place]
            partition.unwatch(watcher)
            self._resting[place] = None
            return
        for future, bytes_needed in self._waiting.items():
            if self._must_look or self._bytes >= bytes_needed:
                _wake(future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def wait_until_committed(
    partition: Partition, leader_epoch: int, last_offset: int, deadline: float, *, waits_for_space: bool
) -> bool:
    """Whether what was appended in a leader epoch was committed before the loop's time reached `deadline`.

    NOT_LEADER_OR_FOLLOWER if that epoch is over: another record may stand at the offset by now. KAFKA_STORAGE_ERROR if
    a full disk has refused to sync it, unless the caller waits for space as well.
    """

    def is_committed() -> bool:
        if partition.is_committed(leader_epoch, last_offset):
            return True
        if not waits_for_space:
            partition.check_sync()
        return False

    return await _wait_until(partition, is_committed, deadline)


async def wait_until_acknowledged(partition: Partition, acks: int, appended: AppendInfo, deadline: float) -> bool:
    """Whether a batch became as safe as its producer and its topic ask for, before the deadline.

    ApiError if it will not, or not here. NOT_ENOUGH_REPLICAS_AFTER_APPEND if the in-sync set shrank below its minimum
    meanwhile, and acks=all was asked for.
    """
    is_acknowledged = await _wait_until(partition, lambda: partition.is_acknowledged(acks, appended), deadline)
    if is_acknowledged and acks == ACKS_ALL:
        partition.check_in_sync_after_append()
    return is_acknowledged


async def wait_until_deleted(partition: Partition, leader_epoch: int, before_offset: int, deadline: float) -> bool:
    """Whether every live replica deleted its records before an offset, before the deadline.

    NOT_LEADER_OR_FOLLOWER if the leader epoch in which that was asked for is over.
    """
    return await _wait_until(partition, lambda: partition.is_deleted(leader_epoch, before_offset), deadline)


async def _wait_until(partition: Partition, is_reached: Callable[[], bool], deadline: float) -> bool:
    loop = asyncio.get_running_loop()
    watch: Watch[int] = Watch()
    try:
        watch.add(0, partition)
        while not is_reached():
            left_ms = (deadline - loop.time()) * 1000
            if left_ms <= 0:
                return False
            await watch.moved(1, int(left_ms) + 1)
            watch.add(0, partition)
    finally:
        watch.close()
    return True
