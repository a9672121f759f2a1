"""How much memory answers may take that clients have not read yet, over all connections.

One Fetch may ask for 55 MB, and a client that asks and does not read keeps them in our memory. Above the budget,
fetches get what they always get at least, one batch, until slower clients have taken theirs.
"""

RESPONSE_BYTES_MAX = 256 * 1024 * 1024


class ResponseBudget:
    """Counts the bytes of answers that wait in connections' write buffers."""

    __slots__ = ("waiting_bytes",)

    def __init__(self) -> None:
        self.waiting_bytes = 0

    @property
    def left_bytes(self) -> int:
        return max(RESPONSE_BYTES_MAX - self.waiting_bytes, 0)

    def take(self, size: int) -> None:
        self.waiting_bytes += size

    def give_back(self, size: int) -> None:
        assert size <= self.waiting_bytes, "more was given back than was taken"
        self.waiting_bytes -= size
