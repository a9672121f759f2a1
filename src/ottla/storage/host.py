"""What storage takes from the process around it, beside its disks: a steady clock, chance and threads.

Everything durable goes through a FileSystem, and the time of day comes as `now_ms` with each call. The rest of what
would make two runs differ is here, so that a simulator runs the same code with parts of its own. Chance only names
directories; no decision depends on it.
"""

import time
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass


def _random_suffix() -> str:
    return uuid.uuid4().hex


def _thread_pool(count: int, name_prefix: str) -> Executor:
    return ThreadPoolExecutor(max_workers=count, thread_name_prefix=name_prefix)


@dataclass(frozen=True, slots=True)
class StorageHost:
    """The parts of the real process, unless others are given."""

    # 32 hexadecimal digits that no directory on its way out or in has yet.
    new_suffix: Callable[[], str] = _random_suffix
    # Never goes back, whatever happens to the time of day.
    monotonic_s: Callable[[], float] = time.monotonic
    # So many threads, whose names begin so. Leaving its context waits for what was submitted.
    thread_pool: Callable[[int, str], Executor] = _thread_pool


REAL_HOST = StorageHost()
