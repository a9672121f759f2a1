import asyncio
import random
from pathlib import Path

import pytest

from ottla.testing.sim.disk import SimulatedDisk
from ottla.testing.sim.host import EPOCH_MS, SimulatedHost
from ottla.testing.sim.loop import SimulatedLoop
from ottla.testing.sim.network import SimulatedNetwork

ROOT = Path("/disk")


def new_host(seed: int = 1) -> tuple[SimulatedLoop, SimulatedHost]:
    loop = SimulatedLoop()
    network = SimulatedNetwork(loop, random.Random(0))
    return loop, SimulatedHost(loop, network, "one", random.Random(seed), {ROOT: SimulatedDisk(ROOT)})


def test_its_clocks_follow_simulated_time_and_one_of_them_may_be_wrong() -> None:
    loop, host = new_host()

    async def run() -> None:
        host.clock_error_ms = -500
        await asyncio.sleep(10)
        assert host.now_ms() == EPOCH_MS + 9_500
        assert round(host.monotonic_s()) == 10

    loop.run_until_complete(loop.start_on(host, run()))


def test_chance_repeats_with_the_seed() -> None:
    drawn = [[host.random_uuid() for _ in range(5)] for _, host in (new_host(7), new_host(7), new_host(8))]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_pool_of_one_thread_keeps_the_order_and_work_takes_its_time() -> None:
    loop, host = new_host()
    done: list[int] = []

    async def run() -> None:
        pool = host.thread_pool(1, "only")
        began_s = loop.time()
        await asyncio.gather(*(loop.run_in_executor(pool, done.append, number) for number in range(50)))
        assert done == list(range(50))
        assert loop.time() - began_s > 25 * host.thread_s

    loop.run_until_complete(loop.start_on(host, run()))


def test_who_waits_for_a_thread_gets_what_it_raised() -> None:
    loop, host = new_host()

    def fail() -> None:
        raise ValueError("no")

    async def run() -> None:
        with pytest.raises(ValueError, match="no"):
            await asyncio.to_thread(fail)
        with host.thread_pool(2, "inner") as pool, pytest.raises(ValueError, match="no"):
            pool.submit(fail).result()

    loop.run_until_complete(loop.start_on(host, run()))


def test_a_worker_keeps_the_order_and_a_thread_of_its_own_runs_once() -> None:
    loop, host = new_host()
    done: list[str] = []

    async def run() -> None:
        worker = host.start_worker("writer")
        worker.submit(lambda: done.append("first"))
        worker.submit(lambda: done.append("second"))
        host.start_thread(lambda: done.append("alone"), "volume")
        await asyncio.sleep(1)
        assert sorted(done) == ["alone", "first", "second"]
        assert done.index("first") < done.index("second")

    loop.run_until_complete(loop.start_on(host, run()))


def test_its_disks_are_those_it_was_built_with() -> None:
    _, host = new_host()
    assert host.file_system(ROOT, trusts_tails=True).root == ROOT
