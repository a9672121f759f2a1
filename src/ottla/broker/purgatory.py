"""Where requests wait: produce for replicas, fetch for data.

A waiting request watches the partitions it is about and is looked at again when one of them moves, or when its time is
up. Data wakes it, never a poll: the latency of a long poll is that of the append. Waiting ends in the next turn of the
event loop, so that a producer's own answer goes out before the consumers' that its records woke.
"""

import asyncio
from collections.abc import Iterable
from functools import partial

from ottla.replication.partition import Partition, Watcher


class Watch:
    """Notes which of some partitions moved, from its making on until it is closed.

    Noting begins with the making, not with the await: whoever makes a watch and looks at the partitions in the same
    turn of the loop misses nothing.
    """

    __slots__ = ("_bytes", "_moved", "_must_look", "_waiting", "_watchers")

    def __init__(self, partitions: Iterable[tuple[int, Partition]]) -> None:
        """Each partition comes with the number under which the caller knows it."""
        self._moved: set[int] = set()
        self._bytes = 0
        self._must_look = False
        self._waiting: tuple[asyncio.Future[None], int] | None = None
        self._watchers: list[tuple[Partition, Watcher]] = []
        for number, partition in partitions:
            watcher = partial(self._note, number)
            partition.watch(watcher)
            self._watchers.append((partition, watcher))

    async def moved(self, bytes_needed: int, timeout_ms: int) -> set[int]:
        """The partitions that moved since the last call.

        Returns once so many new bytes became readable in all of them, one moved otherwise (leadership went, records
        were deleted), or time is up.
        """
        if self._bytes < bytes_needed and not self._must_look:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()
            self._waiting = (future, bytes_needed)
            timer = loop.call_later(timeout_ms / 1000, self._wake)
            try:
                await future
            finally:
                timer.cancel()
                self._waiting = None
        moved, self._moved = self._moved, set()
        self._bytes = 0
        self._must_look = False
        return moved

    def close(self) -> None:
        """Watches no more."""
        for partition, watcher in self._watchers:
            partition.unwatch(watcher)

    def _note(self, number: int, readable_bytes: int) -> None:
        self._moved.add(number)
        self._bytes += readable_bytes
        self._must_look |= readable_bytes == 0
        if self._waiting is not None and (self._must_look or self._bytes >= self._waiting[1]):
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting[0].done():
            self._waiting[0].set_result(None)


async def wait_until_committed(partition: Partition, last_offset: int, deadline: float) -> bool:
    """Whether the record at this offset was committed before the loop's time reached `deadline`."""
    loop = asyncio.get_running_loop()
    epoch = partition.leader_epoch
    watch = Watch([(0, partition)])
    try:
        while not partition.is_committed(last_offset):
            if not partition.is_leader or partition.leader_epoch != epoch:
                raise partition.not_leader()
            left_ms = (deadline - loop.time()) * 1000
            if left_ms <= 0:
                return False
            await watch.moved(1, int(left_ms) + 1)
    finally:
        watch.close()
    return True
