"""Limits the memory of answers that clients have not read yet, over all connections.

One Fetch may ask for 55 MB, and a client that does not read its answer keeps it in our memory. Above the budget, a
fetch gets the minimum, one batch, until slower clients have read their answers. Many clients with one large batch each
would still be too much: at twice the budget, the connections whose answers have waited longest are closed.
"""

from collections.abc import Callable

RESPONSE_BYTES_MAX = 256 * 1024 * 1024
_LIMIT_BYTES = 2 * RESPONSE_BYTES_MAX


class ResponseBudget:
    """Counts the bytes of answers that wait in connections' write buffers."""

    __slots__ = ("_by_owner", "_leaving", "waiting_bytes")

    def __init__(self) -> None:
        self.waiting_bytes = 0
        # Those whose answers have waited longest come first.
        self._by_owner: dict[Callable[[], None], int] = {}
        # Connections that were told to close; their bytes count until they are gone.
        self._leaving: dict[Callable[[], None], int] = {}

    @property
    def left_bytes(self) -> int:
        return max(RESPONSE_BYTES_MAX - self.waiting_bytes, 0)

    @property
    def is_full(self) -> bool:
        """Whether no further answer should be made in this turn of the loop; connections told to close are gone in the
        next."""
        return self.waiting_bytes > _LIMIT_BYTES

    def take(self, give_up: Callable[[], None], size: int) -> None:
        """Counts an answer that waits. `give_up` identifies its owner, and is called to close the connection."""
        self.waiting_bytes += size
        self._by_owner[give_up] = self._by_owner.get(give_up, 0) + size
        while self.waiting_bytes - sum(self._leaving.values()) > _LIMIT_BYTES:
            oldest = next(iter(self._by_owner))
            self._leaving[oldest] = self._by_owner.pop(oldest)
            oldest()

    def give_back(self, give_up: Callable[[], None]) -> None:
        """The owner's answers were sent, or never will be."""
        self.waiting_bytes -= self._by_owner.pop(give_up, 0) + self._leaving.pop(give_up, 0)
