"""Waiting for something that another process does: look again until it is so, or fail with what was last seen."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

POLL_INTERVAL_S = 0.05


def eventually(look: Callable[[], T], accept: Callable[[T], object] = bool, *, timeout_s: float = 30.0) -> T:
    """What `look` returned once `accept` liked it."""
    deadline = time.monotonic() + timeout_s
    while not accept(seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s; last seen: {seen!r}")
        time.sleep(POLL_INTERVAL_S)
    return seen


async def eventually_async(
    look: Callable[[], Awaitable[T]], accept: Callable[[T], object] = bool, *, timeout_s: float = 30.0
) -> T:
    """The same for those who look without blocking."""
    deadline = time.monotonic() + timeout_s
    while not accept(seen := await look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s:g} s; last seen: {seen!r}")
        await asyncio.sleep(POLL_INTERVAL_S / 5)
    return seen
