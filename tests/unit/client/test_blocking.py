"""Coroutines from outside of their loop."""

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from ottla.client.blocking import LoopThread, blocking, on_loop


class Core:
    async def double(self, number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number

    def thread(self) -> int:
        return threading.get_ident()


class Facade:
    def __init__(self) -> None:
        self._core = Core()
        self._thread = LoopThread()

    double = blocking(Core.double)
    thread = on_loop(Core.thread)


def test_a_coroutine_method_becomes_a_blocking_one() -> None:
    facade = Facade()
    assert facade.double(21) == 42
    facade._thread.stop()


def test_a_plain_method_runs_on_the_loops_thread() -> None:
    facade = Facade()
    assert facade.thread() != threading.get_ident()
    facade._thread.stop()


def test_an_error_is_raised_where_the_call_was_made() -> None:
    thread = LoopThread()

    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        thread.run(fail())
    thread.stop()


def test_after_the_end_calls_are_refused() -> None:
    facade = Facade()
    facade._thread.stop()
    with pytest.raises(RuntimeError, match="closed"):
        facade.double(1)


def test_ctrl_c_cancels_the_call_and_leaves_the_loop_usable() -> None:
    thread = LoopThread()
    cancelled = threading.Event()

    async def wait_for_ever() -> None:
        main = threading.main_thread().ident
        assert main is not None
        asyncio.get_running_loop().call_later(0.1, signal.pthread_kill, main, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def answer() -> int:
        return 42

    with pytest.raises(KeyboardInterrupt):
        thread.run(wait_for_ever())
    assert cancelled.wait(5)
    assert thread.run(answer()) == 42
    thread.stop()


def test_on_the_loops_own_thread_a_call_is_refused_and_not_waited_for() -> None:
    facade = Facade()

    async def call() -> int:
        return facade.double(21)

    with pytest.raises(RuntimeError, match="own thread"):
        facade._thread.run(call())
    facade._thread.stop()


def test_on_the_loops_own_thread_what_ends_something_is_begun_also_before_the_loop_ends() -> None:
    thread = LoopThread()
    order = []

    async def end() -> None:
        order.append("begun")
        await asyncio.sleep(0)
        order.append("ended")

    async def leave() -> None:
        thread.finish(end())
        order.append("left")
        thread.stop()

    thread.run(leave())
    thread._thread.join()
    assert order == ["left", "begun", "ended"]


def test_a_program_that_ends_without_closing_anything_ends_silently() -> None:
    program = """
import asyncio
from ottla.client.blocking import LoopThread

async def work():
    await asyncio.Event().wait()

async def start():
    return asyncio.create_task(work())

thread = LoopThread()
task = thread.run(start())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert (done.stdout, done.stderr) == ("", "")
