"""The coordinator's clock: wall-clock milliseconds that never jump.

Sessions must not expire because somebody set the machine's clock, yet commit times must mean something after a restart.
So the wall clock is read once, and the monotonic clock counts from there.
"""

from collections.abc import Callable

from ottla.broker.host import Host


def steady_clock(host: Host) -> Callable[[], int]:
    """A clock that starts at the wall clock's time and moves with the monotonic one."""
    base_ms = host.now_ms() - host.monotonic_s() * 1000

    def now_ms() -> int:
        return round(base_ms + host.monotonic_s() * 1000)

    return now_ms
