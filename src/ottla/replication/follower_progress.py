"""How far one follower has come, as its leader sees it.

A follower's fetch offset says what it holds: everything before it. It is caught up at the time of a fetch that asks for
the leader's end. A follower that keeps pace under a steady load never asks for the very end, so a fetch that reaches
the end that the leader had at the *previous* fetch proves that it was caught up then. Both ends are those from before
the read: what is appended while the fetch is served is not held against the follower.

Times are milliseconds of a clock that never jumps.
"""

UNKNOWN_OFFSET = -1
UNKNOWN_BROKER_EPOCH = -1
_NEVER_MS = -1


class FollowerProgress:
    """One follower within one leader epoch."""

    __slots__ = (
        "_leader_end_offset_at_last_fetch",
        "broker_epoch",
        "last_caught_up_ms",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, now_ms: int, *, is_in_sync: bool) -> None:
        """Nothing is known before the first fetch. One that is in sync has the full lag to send it."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self.last_fetch_ms = _NEVER_MS
        self.last_caught_up_ms = now_ms if is_in_sync else _NEVER_MS
        self._leader_end_offset_at_last_fetch = UNKNOWN_OFFSET

    @property
    def has_fetched(self) -> bool:
        return self.log_end_offset != UNKNOWN_OFFSET

    def fetched(
        self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, broker_epoch: int, now_ms: int
    ) -> None:
        """Takes note of a fetch; `leader_end_offset` is the leader's end from before the read."""
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif self.last_fetch_ms != _NEVER_MS and fetch_offset >= self._leader_end_offset_at_last_fetch:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.broker_epoch = broker_epoch
        self.last_fetch_ms = now_ms
        self._leader_end_offset_at_last_fetch = leader_end_offset

    def still_caught_up(self, as_of_ms: int) -> None:
        """A later fetch of its session left this partition out, because there was nothing new in it."""
        self.last_fetch_ms = max(self.last_fetch_ms, as_of_ms)
        self.last_caught_up_ms = max(self.last_caught_up_ms, as_of_ms)

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_time_max_ms: int) -> bool:
        """Whether it has everything now, or had everything not too long ago."""
        # It may have more than counts yet: the leader's own sync may be the slower one.
        if self.log_end_offset >= leader_end_offset:
            return True
        return self.last_caught_up_ms != _NEVER_MS and now_ms - self.last_caught_up_ms <= lag_time_max_ms
