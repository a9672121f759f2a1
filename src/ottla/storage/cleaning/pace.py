"""How fast a worker may read and write: its share of log.cleaner.io.max.bytes.per.second.

Bytes are counted after they have been moved, and the worker then waits until the rate allows them: one read or write is
still a short burst. The rate may change at any time. While the worker waits it reports that it is alive.
"""

import time
from collections.abc import Callable

# The longest nap, so that a new rate takes effect soon; and the shortest: shorter waits are saved up.
_NAP_S = 0.25
_SHORTEST_NAP_S = 0.001
# Rates beyond these mean "not at all" and "without a limit".
_SLOWEST, _FASTEST = 1.0, 1e18


class Pace:
    """The budget of one worker, in bytes."""

    def __init__(
        self,
        bytes_per_s: float,
        *,
        on_progress: Callable[[], None] = lambda: None,
        clock_s: Callable[[], float] = time.monotonic,
        sleep_s: Callable[[float], None] = time.sleep,
    ) -> None:
        self.bytes_per_s = bytes_per_s
        self._on_progress = on_progress
        self._clock_s = clock_s
        self._sleep_s = sleep_s
        self._owed_bytes = 0.0
        self._paid_at_s = clock_s()

    def account(self, moved_bytes: int) -> None:
        """Count bytes that were read or written; returns when the rate allows them."""
        self._on_progress()
        self._owed_bytes += moved_bytes
        self._pay()
        while (left_s := self._owed_bytes / self._rate) > _SHORTEST_NAP_S:
            self._sleep_s(min(_NAP_S, left_s))
            self._on_progress()
            self._pay()

    def now_s(self) -> float:
        """The clock that it uses."""
        return self._clock_s()

    @property
    def _rate(self) -> float:
        return min(max(self.bytes_per_s, _SLOWEST), _FASTEST)

    def _pay(self) -> None:
        now_s = self._clock_s()
        self._owed_bytes = max(0.0, self._owed_bytes - (now_s - self._paid_at_s) * self._rate)
        self._paid_at_s = now_s
