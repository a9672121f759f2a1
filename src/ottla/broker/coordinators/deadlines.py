"""One loop timer for all deadlines of a shard.

The shard says when to check next; that may be too early, never too late. A check that fails is repeated: members must
still expire once the failure has passed.
"""

import asyncio
import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

# A retry at once would spin.
_RETRY_PAUSE_S = 1.0


class Deadlines:
    """The timer of one shard."""

    def __init__(
        self, name: str, clock: Callable[[], int], next_check_ms: Callable[[], int | None], tick: Callable[[int], None]
    ) -> None:
        """`tick` is called with the time when a check is due. Call `schedule` after anything that may arm a
        deadline."""
        self._name = name
        self._clock = clock
        self._next_check_ms = next_check_ms
        self._tick = tick
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_closed = False

    def schedule(self) -> None:
        """Sets the loop's timer for the next deadline."""
        next_ms = self._next_check_ms()
        if next_ms is None or self._is_closed or (self._timer is not None and self._timer_ms <= next_ms):
            return
        self._set(next_ms, max(next_ms - self._clock(), 0) / 1000)

    def close(self) -> None:
        """Stops the timer."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def check(self) -> None:
        """Checks for deadlines that have come."""
        self._timer = None
        try:
            self._tick(self._clock())
            self.schedule()
        except Exception:
            logger.exception("The deadlines of %s could not be checked; retrying", self._name)
            if self._timer is None and not self._is_closed:
                self._set(self._clock() + int(_RETRY_PAUSE_S * 1000), _RETRY_PAUSE_S)

    def _set(self, at_ms: int, delay_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = at_ms
        self._timer = self._loop.call_later(delay_s, self.check)
