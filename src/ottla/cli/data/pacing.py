"""Doing something at a rate: each unit of work has its time, and what is late is caught up with."""

from ottla.cli.exits import UsageError


class Pace:
    """`rate` units a second, counted from the first question; no limit without a rate."""

    def __init__(self, rate: float | None) -> None:
        if rate is not None and not rate > 0:
            raise UsageError(f"--rate {rate:g}: it is a number of records a second, above 0.")
        self._rate = rate
        self._started_s: float | None = None

    def delay_s(self, done: int, now_s: float) -> float:
        """How long to wait before the next unit after `count`; 0 or less if it is due."""
        if self._rate is None:
            return 0.0
        if self._started_s is None:
            self._started_s = now_s
        return self._started_s + done / self._rate - now_s

    async def wait(self, done: int) -> None:
        """Wait until the next unit is due, after so many."""
        import asyncio

        if self._rate is None:
            return
        delay_s = self.delay_s(done, asyncio.get_running_loop().time())
        if delay_s > 0:
            await asyncio.sleep(delay_s)
