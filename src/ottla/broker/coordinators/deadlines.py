"""One loop timer for all deadlines of a shard.

The shard says when it wants to be asked next, which may be too early and is never too late. A deadline that fails is
not the last one: members must still expire when whatever it is has passed.
"""

import asyncio
import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

# At once would be again and again.
_RETRY_PAUSE_S = 1.0


class Deadlines:
    """The timer of one shard."""

    def __init__(
        self, name: str, clock: Callable[[], int], next_check_ms: Callable[[], int | None], tick: Callable[[int], None]
    ) -> None:
        """`tick` gets the time when a check is due; `schedule` is to be called after whatever may arm a deadline."""
        self._name = name
        self._clock = clock
        self._next_check_ms = next_check_ms
        self._tick = tick
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_closed = False

    def schedule(self) -> None:
        """Makes sure that the loop calls in time for the next deadline."""
        next_ms = self._next_check_ms()
        if next_ms is None or self._is_closed or (self._timer is not None and self._timer_ms <= next_ms):
            return
        self._set(next_ms, max(next_ms - self._clock(), 0) / 1000)

    def close(self) -> None:
        """No deadline is kept any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def check(self) -> None:
        """The time has come, or may have."""
        self._timer = None
        try:
            self._tick(self._clock())
            self.schedule()
        except Exception:
            logger.exception("Deadlines of %s are not kept; tried again", self._name)
            if self._timer is None and not self._is_closed:
                self._set(self._clock() + int(_RETRY_PAUSE_S * 1000), _RETRY_PAUSE_S)

    def _set(self, at_ms: int, delay_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = at_ms
        self._timer = self._loop.call_later(delay_s, self.check)
