"""Deadlines of a shard: one heap, moved lazily.

A heartbeat moves a deadline every few seconds and almost no deadline is ever reached. So moving one later only writes
a number; the heap keeps the old position, and the entry is put back where it belongs when that position is reached.
Moving one earlier, which is rare, queues it again and leaves the old position to be skipped.

The table knows no clock: `expired(now_ms)` is told the time, and `next_check_ms` says when it wants to be asked again.
That may be earlier than the first real deadline, never later.
"""

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

# Skipped positions are swept once they outnumber the live ones by this factor and this many.
_SWEEP_FACTOR = 2
_SWEEP_SLACK = 64


class _Entry(Generic[KeyT]):
    __slots__ = ("deadline_ms", "key", "queued_ms", "ticket")

    def __init__(self, key: KeyT, deadline_ms: int) -> None:
        self.key = key
        self.deadline_ms = deadline_ms
        self.queued_ms = deadline_ms
        self.ticket = -1


class TimerTable(Generic[KeyT]):
    """Deadlines by key; a key has at most one."""

    __slots__ = ("_entries", "_heap", "_tickets")

    def __init__(self) -> None:
        self._entries: dict[KeyT, _Entry[KeyT]] = {}
        self._heap: list[tuple[int, int, _Entry[KeyT]]] = []
        self._tickets = 0

    def __len__(self) -> int:
        return len(self._entries)

    def arm(self, key: KeyT, deadline_ms: int) -> None:
        """Set the deadline of `key`, in place of any earlier one."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(key, deadline_ms)
            self._queue(entry)
            return
        entry.deadline_ms = deadline_ms
        if deadline_ms < entry.queued_ms:
            self._queue(entry)

    def cancel(self, key: KeyT) -> None:
        """Forget the deadline of `key`, if it has one."""
        self._entries.pop(key, None)

    def deadline_ms(self, key: KeyT) -> int | None:
        """When `key` expires, or None."""
        entry = self._entries.get(key)
        return None if entry is None else entry.deadline_ms

    @property
    def next_check_ms(self) -> int | None:
        """When `expired` should be asked next; None while nothing is armed."""
        return self._heap[0][0] if self._entries else None

    def expired(self, now_ms: int) -> Iterator[KeyT]:
        """Take out the keys whose deadline has come, in order. Keys may be armed and cancelled meanwhile."""
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            _, ticket, entry = heapq.heappop(heap)
            if entry.ticket != ticket or self._entries.get(entry.key) is not entry:
                continue
            if entry.deadline_ms > now_ms:
                self._queue(entry)
                continue
            del self._entries[entry.key]
            yield entry.key

    def _queue(self, entry: _Entry[KeyT]) -> None:
        if len(self._heap) > _SWEEP_FACTOR * len(self._entries) + _SWEEP_SLACK:
            self._heap = [item for item in self._heap if self._is_live(item)]
            heapq.heapify(self._heap)
        self._tickets += 1
        entry.ticket = self._tickets
        entry.queued_ms = entry.deadline_ms
        heapq.heappush(self._heap, (entry.deadline_ms, self._tickets, entry))

    def _is_live(self, item: tuple[int, int, _Entry[KeyT]]) -> bool:
        _, ticket, entry = item
        return entry.ticket == ticket and self._entries.get(entry.key) is entry
