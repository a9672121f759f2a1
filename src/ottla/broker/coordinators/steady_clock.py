"""The coordinator's clock: wall-clock milliseconds that never jump.

Sessions must not expire because somebody set the machine's clock, yet commit times must mean something after a restart.
So the wall clock is read once, and the monotonic clock counts from there.
"""

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], int]:
    """A clock that starts at the wall clock's time and moves with the monotonic one."""
    base_ns = time.time_ns() - time.monotonic_ns()

    def now_ms() -> int:
        return (base_ns + time.monotonic_ns()) // 1_000_000

    return now_ms
