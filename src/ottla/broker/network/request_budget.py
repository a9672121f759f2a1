"""Limits the memory of requests that are being read or handled, over all connections (`queued.max.request.bytes`).

As in Kafka, a request reserves its whole size before its bytes are read, and is admitted while anything is left at all.
So an admitted request can always be completed, and at most one request exceeds the limit. A connection that gets
nothing stops reading until others have been answered; waiting requests are admitted in the order in which they asked.

A request that fits into the buffer that each connection has anyway needs no reservation: heartbeats, fetches and
metadata get through while large requests queue.
"""

from collections import OrderedDict
from collections.abc import Callable


class RequestBudget:
    """Bytes reserved by large requests. Without a limit it only counts."""

    __slots__ = ("_waiting", "limit_bytes", "reserved_bytes")

    def __init__(self, limit_bytes: int = -1) -> None:
        self.limit_bytes = limit_bytes
        self.reserved_bytes = 0
        self._waiting: OrderedDict[object, tuple[int, Callable[[], None]]] = OrderedDict()

    def try_reserve(self, owner: object, size: int, on_reserved: Callable[[], None]) -> bool:
        """Reserves bytes. False if that has to wait: then `on_reserved` is called when they are reserved."""
        if self._has_room() and not self._waiting:
            self.reserved_bytes += size
            return True
        self._waiting[owner] = size, on_reserved
        return False

    def release(self, owner: object, size: int) -> None:
        """Gives reserved bytes back; a reservation that `owner` still waits for is dropped."""
        assert size <= self.reserved_bytes, "more was given back than was reserved"
        self.reserved_bytes -= size
        self._waiting.pop(owner, None)
        while self._waiting and self._has_room():
            _, (wanted, on_reserved) = self._waiting.popitem(last=False)
            self.reserved_bytes += wanted
            on_reserved()

    def _has_room(self) -> bool:
        return self.limit_bytes < 0 or self.reserved_bytes < self.limit_bytes
