import asyncio
import gc
import weakref
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import pytest

from ottla.testing.sim.loop import DeadlockedSimulation, Power, SimulatedLoop, SimulatedMachine, current_machine


class PlainMachine(SimulatedMachine):
    def run_in_thread(self, executor: Executor | None, work: Callable[[], Any]) -> asyncio.Future[Any]:
        del executor
        outcome = asyncio.get_running_loop().create_future()
        outcome.set_result(work())
        return outcome


def test_time_passes_without_waiting_and_in_order() -> None:
    loop = SimulatedLoop()
    seen: list[tuple[str, int]] = []

    async def sleep(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, round(loop.time())))

    async def run() -> None:
        await asyncio.gather(sleep("day", 86_400), sleep("hour", 3_600), sleep("minute", 60))

    loop.run_until_complete(run())
    assert seen == [("minute", 60), ("hour", 3_600), ("day", 86_400)]


def test_timers_of_the_same_moment_fire_in_the_order_in_which_they_were_set() -> None:
    loop = SimulatedLoop()
    fired: list[int] = []

    async def run() -> None:
        for number in range(20):
            loop.call_at(5.0, fired.append, number)
        await asyncio.sleep(6)

    loop.run_until_complete(run())
    assert fired == list(range(20))


def test_a_machine_lives_by_its_own_clock() -> None:
    loop = SimulatedLoop()
    fast = PlainMachine("fast")
    fast.clock_rate = 1.25
    seen: list[tuple[int, int]] = []

    async def program() -> None:
        await asyncio.sleep(100)
        seen.append((round(loop.time()), round(loop.world_s)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout_at(200):
                await loop.create_future()
        seen.append((round(loop.time()), round(loop.world_s)))

    async def run() -> None:
        await loop.start_on(fast, program())

    loop.run_until_complete(run())
    assert seen == [(100, 80), (200, 160)]
    assert round(loop.time()) == 160


def test_all_that_comes_of_a_program_belongs_to_its_machine() -> None:
    loop = SimulatedLoop()
    machine = PlainMachine("one")
    found: list[str] = []

    async def inner() -> None:
        found.append(current_machine().name)

    async def program() -> None:
        await asyncio.create_task(inner())
        asyncio.get_running_loop().call_later(1, lambda: found.append(current_machine().name))
        await asyncio.to_thread(lambda: found.append(current_machine().name))
        await asyncio.sleep(2)

    loop.run_until_complete(loop.start_on(machine, program()))
    assert found == ["one", "one", "one"]


def test_a_paused_machine_goes_on_where_it_was() -> None:
    loop = SimulatedLoop()
    machine = PlainMachine("one")
    seen: list[float] = []

    async def program() -> None:
        while True:
            seen.append(loop.time())
            await asyncio.sleep(1)

    async def run() -> None:
        loop.start_on(machine, program())
        await asyncio.sleep(2.5)
        machine.power = Power.PAUSED
        await asyncio.sleep(10)
        loop.resume(machine)
        await asyncio.sleep(1)

    loop.run_until_complete(run())
    assert [round(at, 1) for at in seen] == [0.0, 1.0, 2.0, 12.5]


def test_a_dead_machine_takes_no_further_step_and_its_waiters_hear_nothing() -> None:
    loop = SimulatedLoop()
    machine = PlainMachine("one")
    steps: list[str] = []

    async def program() -> None:
        try:
            steps.append("begun")
            await asyncio.sleep(1)
            steps.append("gone on")
        finally:
            steps.append("cleaned up")

    async def run() -> asyncio.Task[None]:
        task = loop.start_on(machine, program())
        await asyncio.sleep(0.5)
        loop.drop(machine)
        await asyncio.sleep(5)
        return task

    task = loop.run_until_complete(run())
    assert not task.done()
    assert steps == ["begun"]


def test_a_callback_in_which_its_machine_dies_is_not_a_failure_and_what_it_starts_never_runs() -> None:
    loop = SimulatedLoop()
    seen: list[str] = []

    async def go_on() -> None:
        seen.append("gone on")

    def die() -> None:
        loop.drop(current_machine())
        loop.create_task(go_on())
        raise RuntimeError("as the power went")

    def fail() -> None:
        raise RuntimeError("with the power on")

    async def program(then: Callable[[], None]) -> None:
        loop.call_soon(then)

    async def run() -> None:
        for name, then in (("one", fail), ("two", die)):
            await loop.start_on(PlainMachine(name), program(then))
        await asyncio.sleep(1)

    loop.run_until_complete(run())
    loop.close()
    assert [str(failure["exception"]) for failure in loop.failures] == ["with the power on"]
    assert seen == []


def test_a_closed_loop_lets_go_of_what_its_tasks_start_as_they_clean_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a program that has not had a loop yet.
    monkeypatch.setattr(asyncio.events, "_event_loop_policy", asyncio.DefaultEventLoopPolicy())
    seen: list[str] = []

    async def clean_up() -> None:
        seen.append("cleaned up")

    async def program() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            # Without a loop that runs, asyncio would make one that never does, and keep this task for ever.
            asyncio.ensure_future(clean_up())  # noqa: RUF006 - nobody is left who could wait for it

    def live() -> weakref.ref[SimulatedLoop]:
        loop = SimulatedLoop()

        async def run() -> None:
            loop.start_on(PlainMachine("one"), program())
            await asyncio.sleep(0.5)

        loop.run_until_complete(run())
        loop.close()
        return weakref.ref(loop)

    kept = live()
    gc.collect()
    assert kept() is None
    assert seen == []


def test_who_waits_for_nothing_is_told_so() -> None:
    loop = SimulatedLoop()

    async def run() -> None:
        await loop.create_future()

    with pytest.raises(DeadlockedSimulation):
        loop.run_until_complete(run())
