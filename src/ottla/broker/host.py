"""What a node uses of its machine: clocks, randomness, threads, disks, addresses.

`Host` is the one seam between a node and everything that is not deterministic. `Machine` is the real one; a simulator
replaces it (`ottla.testing.sim`) and runs the node unchanged. The event loop is the other half of the seam: whoever
makes the loop decides its time, its timers and its transports.

Storage sees the same object as a `StorageHost`, which is the part of it that storage needs. A client has a seam of its
own (`ottla.client.machine`): it runs in programs that are not nodes, knows neither storage nor broker, and needs only
random numbers and the time of day, since threads, disks and listening concern nodes.

Nothing else in `ottla.broker` reads a clock, draws a random number, starts a thread or opens a file
(tests/tidy/test_seam.py). Metrics are the exception: they measure the real process, and no simulation has them.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ottla.broker.network.listening_socket import bind
from ottla.storage.cleaning.job import CleaningWorker
from ottla.storage.cleaning.worker_process import WorkerProcess
from ottla.storage.file_system import FileSystem, OsFileSystem
from ottla.storage.host import ProcessHost, StorageHost

if TYPE_CHECKING:
    import socket


class VolumeSpace(NamedTuple):
    """How large a volume is, and how much of it is free for this process."""

    total_bytes: int
    usable_bytes: int


class Worker(Protocol):
    """A thread that works through a queue. If it hangs, the process can end all the same."""

    def submit(self, work: Callable[[], None]) -> None:
        """Queues work."""

    def stop(self) -> None:
        """Ends the thread after the work that is queued; never, if that hangs."""

    def join(self) -> None:
        """Waits for the end. Blocks, so another thread must call it."""


class Host(StorageHost, Protocol):
    """The machine under one node. Its steady clock goes on while a callback runs; the loop's own time stands still."""

    def now_ms(self) -> int:
        """The wall clock, for timestamps in records and answers: milliseconds since the epoch. It may jump."""

    def random_below(self, bound: int) -> int:
        """A random number from 0 to `bound` - 1."""

    def start_worker(self, name: str) -> Worker:
        """A thread for work that must keep its order."""

    def start_thread(self, work: Callable[[], None], name: str) -> None:
        """Starts a thread for work that may never end, and that nobody waits for."""

    def file_system(self, root: Path, *, trusts_tails: bool) -> FileSystem:
        """The disk under a log directory; `trusts_tails` as `OsFileSystem` has it."""

    def volume_space(self, path: Path) -> VolumeSpace | None:
        """The size of a path's volume; None if the disk fails. A disk that hangs blocks for ever."""

    def cleaning_worker(self, bytes_per_s: Callable[[], float]) -> CleaningWorker:
        """The worker that compacts logs for one cleaner thread; it asks often how fast it may read and write."""

    async def bind(self, host: str, port: int) -> list[socket.socket]:
        """Sockets that are bound and do not listen yet; OSError if the address cannot be used."""


def steady_clock(host: Host) -> Callable[[], int]:
    """Wall-clock milliseconds that never jump: the wall clock is read once, the monotonic clock counts from there.

    Coordinators need it: no session may expire because somebody set the machine's clock, and commit times must still be
    valid after a restart.
    """
    base_ms = host.now_ms() - host.monotonic_s() * 1000
    return lambda: round(base_ms + host.monotonic_s() * 1000)


class Machine(ProcessHost):
    """The machine that this process runs on."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def random_below(self, bound: int) -> int:
        return secrets.randbelow(bound)

    def start_worker(self, name: str) -> Worker:
        return _WorkerThread(name)

    def start_thread(self, work: Callable[[], None], name: str) -> None:
        threading.Thread(target=work, name=name, daemon=True).start()

    def file_system(self, root: Path, *, trusts_tails: bool) -> FileSystem:
        return OsFileSystem(root, trusts_tails=trusts_tails)

    def volume_space(self, path: Path) -> VolumeSpace | None:
        try:
            found = os.statvfs(path)
        except OSError:
            return None
        return VolumeSpace(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def cleaning_worker(self, bytes_per_s: Callable[[], float]) -> CleaningWorker:
        return WorkerProcess(bytes_per_s)

    async def bind(self, host: str, port: int) -> list[socket.socket]:
        return await bind(host, port)


class _WorkerThread:
    def __init__(self, name: str) -> None:
        self._submitted: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A daemon: work that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], None]) -> None:
        self._submitted.put(work)

    def stop(self) -> None:
        self._submitted.put(None)

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        while (work := self._submitted.get()) is not None:
            work()
