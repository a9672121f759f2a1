"""Counts requests and their times, around an app.

Endpoints are named by their handlers, of which there are as many as the API has; what leads nowhere, or was turned away
before, counts as `none`.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ottla.metrics.latency import WINDOW_S, Latency
from ottla.registry.metrics.catalogue import ENDPOINTS

NO_ENDPOINT: Final = "none"
_ERROR_FROM: Final = 400


@dataclass(frozen=True, slots=True)
class _Mark:
    at_s: float
    count: int = 0
    error_count: int = 0
    sum_us: int = 0


@dataclass(frozen=True, slots=True)
class Recent:
    """What happened in the last window, or a little more, or since the start."""

    seconds: float
    count: int
    error_count: int
    sum_us: int
    # As `quantile_us` takes them.
    counts: list[int]


class RequestTimes:
    """The requests of one endpoint."""

    def __init__(self, now_s: float) -> None:
        self.latency = Latency()
        self.count = 0
        self.error_count = 0
        # Oldest first, the second one at least a window old.
        self._marks = deque([_Mark(now_s)])
        # The first call says from when on times count as recent.
        self.latency.recent(now_s)

    def observe(self, us: int, status: int) -> None:
        self.latency.observe(us)
        self.count += 1
        self.error_count += status >= _ERROR_FROM

    def recent(self, now_s: float) -> Recent:
        marks = self._marks
        if now_s - marks[-1].at_s >= WINDOW_S / 2:
            marks.append(_Mark(now_s, self.count, self.error_count, self.latency.sum_us))
        while len(marks) > 1 and now_s - marks[1].at_s >= WINDOW_S:
            marks.popleft()
        since = marks[0]
        return Recent(
            now_s - since.at_s,
            self.count - since.count,
            self.error_count - since.error_count,
            self.latency.sum_us - since.sum_us,
            self.latency.recent(now_s),
        )


class MeasuredApp:
    def __init__(self, app: ASGIApp, now_s: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now_s = now_s
        self.total = RequestTimes(now_s())
        self.endpoints: dict[str, RequestTimes] = {}
        self.statuses: Counter[tuple[str, int]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = self._now_s()
        # For an answer that never began.
        status = 500

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            self._observe(_name(scope), int((self._now_s() - began_s) * 1_000_000), status)

    def _observe(self, endpoint: str, us: int, status: int) -> None:
        times = self.endpoints.get(endpoint)
        if times is None:
            times = self.endpoints[endpoint] = RequestTimes(self._now_s())
        times.observe(us, status)
        self.total.observe(us, status)
        self.statuses[endpoint, status] += 1


def _name(scope: Scope) -> str:
    handler = getattr(scope.get("endpoint"), "__name__", NO_ENDPOINT)
    return ENDPOINTS.get(handler, handler)
