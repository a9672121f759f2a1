"""The machine under one simulated program: implements `ottla.broker.host.Host`.

Chance comes from the world's seed. The clocks follow simulated time, or run a little faster or slower, and the wall
clock may be set. A thread takes a while to begin and to end what it is given; what it does happens at one moment
between the two. Disks are the world's: they outlive the machine that they are built into.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import socket
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from ottla.broker.host import VolumeSpace
from ottla.protocol.uuids import uuid_to_text
from ottla.storage.cleaning.inline_worker import InlineWorker
from ottla.storage.cleaning.job import CleaningWorker
from ottla.storage.file_system import FileSystem
from ottla.testing.sim.disk import SimulatedDisk
from ottla.testing.sim.loop import SimulatedLoop, SimulatedMachine
from ottla.testing.sim.network import SimulatedNetwork

T = TypeVar("T")

EPOCH_MS: Final = 1_700_000_000_000
# How long a thread takes for a piece of work, on average.
THREAD_S: Final = 0.000_5
_VOLUME_BYTES: Final = 1 << 40
_DEFAULT_POOL_SIZE: Final = 8


class SimulatedHost(SimulatedMachine):
    """A machine that is up, from its start to its crash; the next start is another one."""

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        name: str,
        chance: random.Random,
        disks: dict[Path, SimulatedDisk],
    ) -> None:
        super().__init__(name)
        self._loop = loop
        self._network = network
        self._chance = chance
        self._disks = disks
        # Added to the wall clock.
        self.clock_error_ms = 0
        # How long threads take on average, for each piece of work: a disk that is slow.
        self.thread_s = THREAD_S
        self._default_pool = SimulatedPool(self, _DEFAULT_POOL_SIZE)
        network.join(self)

    # -- Host ---------------------------------------------------------------------------------------------------------

    def now_ms(self) -> int:
        return EPOCH_MS + self.clock_error_ms + int(self.monotonic_s() * 1000)

    def monotonic_s(self) -> float:
        return self._loop.world_s * self.clock_rate

    def random_below(self, bound: int) -> int:
        return self._chance.randrange(bound)

    def random_uuid(self) -> bytes:
        while True:
            raw = self._chance.randbytes(16)
            # Kafka's tools would take such an id for an option.
            if not uuid_to_text(raw).startswith("-"):
                return raw

    def thread_pool(self, size: int, name: str) -> Executor:
        del name
        return SimulatedPool(self, size)

    def start_worker(self, name: str) -> SimulatedWorker:
        del name
        return SimulatedWorker(self)

    def start_thread(self, work: Callable[[], None], name: str) -> None:
        del name
        self._loop.call_later(self.draw_thread_s(), work)

    def file_system(self, root: Path, *, trusts_tails: bool) -> FileSystem:
        del trusts_tails
        return self._disks[root]

    def volume_space(self, path: Path) -> VolumeSpace | None:
        disk = self._disks[path]
        total_bytes = _VOLUME_BYTES if disk.capacity_bytes is None else disk.capacity_bytes
        return VolumeSpace(total_bytes, max(total_bytes - disk.used_bytes, 0))

    def cleaning_worker(self, bytes_per_s: Callable[[], float]) -> CleaningWorker:
        return InlineWorker(bytes_per_s, monotonic_s=self.monotonic_s, sleep_s=lambda _: None)

    async def bind(self, host: str, port: int) -> list[socket.socket]:
        del host
        return [cast("socket.socket", self._network.bind(self, port))]

    # -- threads ------------------------------------------------------------------------------------------------------

    @property
    def loop(self) -> SimulatedLoop:
        return self._loop

    def run_in_thread(self, executor: Executor | None, work: Callable[[], T]) -> asyncio.Future[T]:
        pool = executor or self._default_pool
        assert isinstance(pool, SimulatedPool), "the threads of a simulated program come from its host"
        return pool.begin(work)

    def draw_thread_s(self) -> float:
        """How long a thread takes for the next piece of work."""
        return self._chance.expovariate(1 / self.thread_s)

    def draw_share(self) -> float:
        """At which moment of it the work is done."""
        return self._chance.random()


class SimulatedPool(Executor):
    """Threads that take work in the order in which it comes, as many at a time as there are."""

    def __init__(self, host: SimulatedHost, size: int) -> None:
        self._host = host
        # When each of them has nothing more to do.
        self._free_s = [0.0] * min(size, _DEFAULT_POOL_SIZE)

    def begin(self, work: Callable[[], T]) -> asyncio.Future[T]:
        loop = self._host.loop
        outcome: asyncio.Future[T] = loop.create_future()
        begin_s = max(loop.time(), heapq.heappop(self._free_s))
        takes_s = self._host.draw_thread_s()
        heapq.heappush(self._free_s, begin_s + takes_s)
        loop.call_at(begin_s + takes_s * self._host.draw_share(), self._do, work, outcome, begin_s + takes_s)
        return outcome

    def _do(self, work: Callable[[], T], outcome: asyncio.Future[T], end_s: float) -> None:
        if outcome.done():
            return
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self._host.loop.call_at(end_s, _fail, outcome, error)
        else:
            self._host.loop.call_at(end_s, _succeed, outcome, result)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """What a thread gives to other threads, and waits for, is done at once."""
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as above
            outcome.set_exception(error)
        return outcome

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is held."""


def _succeed(outcome: asyncio.Future[T], result: T) -> None:
    if not outcome.done():
        outcome.set_result(result)


def _fail(outcome: asyncio.Future[Any], error: Exception) -> None:
    if not outcome.done():
        outcome.set_exception(error)


class SimulatedWorker:
    """One thread of its own."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self._free_s = 0.0

    def submit(self, work: Callable[[], None]) -> None:
        self._free_s = max(self._host.loop.time(), self._free_s) + self._host.draw_thread_s()
        self._host.loop.call_at(self._free_s, work)

    def stop(self) -> None:
        """Nothing is held."""

    def join(self) -> None:
        """What was submitted is done by the loop."""
