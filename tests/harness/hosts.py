"""Hosts whose clock a test drives."""

from collections.abc import Callable

from ottla.broker.host import Machine


class ClockedMachine(Machine):
    """The real machine, but for its clocks, and for chance, which always chooses the first."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms()

    def monotonic_s(self) -> float:
        return self._now_ms() / 1000

    def random_below(self, bound: int) -> int:
        del bound
        return 0
