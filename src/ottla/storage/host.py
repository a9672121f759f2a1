"""What storage takes from the machine under it, beside its disks: a steady clock, chance and threads.

Everything durable goes through a FileSystem, and the time of day comes as `now_ms` with each call. The rest of what
would make two runs differ is here. A node's host (`ottla.broker.host`) has these parts and more, so storage is handed
the host itself, whether real or simulated. Chance only names directories; no decision depends on it.
"""

import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Protocol

from ottla.protocol.uuids import random_uuid


class StorageHost(Protocol):
    """The part of a host that storage needs."""

    def monotonic_s(self) -> float:
        """For intervals, in any thread: it never goes back, whatever happens to the time of day."""

    def random_uuid(self) -> bytes:
        """A new id that nobody else has."""

    def thread_pool(self, size: int, name: str) -> Executor:
        """So many threads, whose names begin so. Leaving its context waits for what was submitted."""


class ProcessHost:
    """The process that runs this code."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def random_uuid(self) -> bytes:
        return random_uuid()

    def thread_pool(self, size: int, name: str) -> Executor:
        return ThreadPoolExecutor(size, name)
