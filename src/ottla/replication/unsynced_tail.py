"""The end of a leader's log that waits for a sync before it counts.

An append that reaches flush.messages counts for the watermark, and is acknowledged, only after a sync. This is the
bookkeeping of that; who owns it does the syncs, moves the watermark and wakes those who wait.

Guarantees
- One sync is under way at most. It serves all appends that it finds in the log; one that comes later asks for another.
- A record counts if a sync has reached it, or if the log asks for no sync any more: then all of the tail counts.
- A failed sync is told to everybody who asks, until the next one begins or nothing waits. What waits stays in the tail.

Invariant: a failure is known only while no sync is under way.

Nothing survives a crash, and nothing needs to: the next leader begins with a tail from the recovery point of its log.
"""

from ottla.protocol.errors import ApiError


class UnsyncedTail:
    """What of one log waits for a sync, and how the syncs went."""

    __slots__ = ("_end_offset", "_failure", "is_syncing")

    def __init__(self) -> None:
        self._end_offset: int | None = None
        self._failure: ApiError | None = None
        self.is_syncing = False

    def hold(self, end_offset: int) -> None:
        """Everything up to this offset waits."""
        self._end_offset = end_offset

    def clear(self) -> None:
        """Nothing waits in a new leader epoch. A sync may still be under way, and serves that epoch as well."""
        self._end_offset = self._failure = None

    def begin_sync(self) -> bool:
        """Whether the owner has to begin a sync: something waits, and none is under way."""
        if self._end_offset is None or self.is_syncing:
            return False
        self.is_syncing = True
        self._failure = None
        return True

    def sync_ended(self, failure: ApiError | None = None) -> None:
        """Takes note that no sync is under way any more, and why the last one failed, if it did."""
        self.is_syncing = False
        self._failure = failure

    def count(self, recovery_point: int, *, must_flush: bool) -> int | None:
        """Up to where records count now; None if nothing waits.

        While the log must be flushed, because more was appended since the sync looked or because the sync failed, only
        what is below the recovery point counts, and the tail stays.
        """
        end_offset = self._end_offset
        if end_offset is None:
            return None
        if must_flush:
            return min(end_offset, recovery_point)
        self._end_offset = self._failure = None
        return end_offset

    def check(self) -> None:
        """ApiError if the last sync failed, and none is under way."""
        failure = self._failure
        if failure is not None:
            # Another one each time: what is raised keeps the stack of everybody whom it passes.
            raise ApiError(failure.code, failure.message)
