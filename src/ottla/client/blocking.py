"""An event loop on a thread of its own, and what turns coroutine methods into blocking ones.

Ctrl-C while a call waits cancels the call on the loop and is raised where the call was made: the loop itself never sees
it, so everything can still be closed in order.

The garbage collector may run on any thread, and there it closes a `with` block that was left open in a generator. On
the loop's own thread, waiting for the loop would never end. So a call is refused there, and the end of a block is
started without waiting for it.
"""

import asyncio
import atexit
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


class LoopThread:
    """A running event loop for callers without one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        # A program that ends without closing its client must not hang: nothing joins the thread before `atexit`, which
        # cancels what runs.
        self._thread = threading.Thread(target=self._serve, name="ottla-client", daemon=True)
        self._thread.start()
        # A loop holds its tasks weakly.
        self._begun: set[asyncio.Task[Any]] = set()
        self._stopping: asyncio.Task[None] | None = None
        atexit.register(self.stop)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the loop and return its result."""
        if self.is_current():
            coroutine.close()
            raise RuntimeError(
                "a blocking call of the client was made on the client's own thread, where it would wait for itself: "
                "call it on another one"
            )
        future = self.start(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, coroutine: Coroutine[Any, Any, R]) -> Future[R]:
        """Let a coroutine run on the loop while the caller does something else."""
        if not self._thread.is_alive():
            coroutine.close()
            raise RuntimeError("the client was closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def finish(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that ends something; on the loop's own thread it is only started, and its outcome is lost."""
        if not self.is_current():
            self.run(coroutine)
            return
        task = self.loop.create_task(coroutine, name="finish")
        self._begun.add(task)
        task.add_done_callback(self._finished)

    def stop(self) -> None:
        """End the loop; whatever still runs on it is cancelled."""
        if self.is_current():
            self._stopping = self.loop.create_task(self._stop_when_finished(), name="stop")
        elif self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
        atexit.unregister(self.stop)

    def is_current(self) -> bool:
        """Whether this is the loop's own thread."""
        return threading.current_thread() is self._thread

    async def _stop_when_finished(self) -> None:
        if self._begun:
            await asyncio.wait(self._begun)
        self.loop.stop()

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled():
            task.exception()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.loop.close()


def blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Any, P], R]:
    """Make a blocking method for a facade, whose `_core` has the real method and lives on the loop of `_thread`."""

    @functools.wraps(method)
    def call(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        thread: LoopThread = facade._thread
        return thread.run(method(facade._core, *args, **kwargs))

    return call


def started(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Any, P], Future[R]]:
    """Make a method that does not wait: it returns a future of the result."""

    @functools.wraps(method)
    def call(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        thread: LoopThread = facade._thread
        return thread.start(method(facade._core, *args, **kwargs))

    return call


def finishing(method: Callable[[C], Coroutine[Any, Any, None]]) -> Callable[[Any], None]:
    """Make a blocking method that ends a `with` block."""

    @functools.wraps(method)
    def call(facade: Any, /) -> None:
        thread: LoopThread = facade._thread
        thread.finish(method(facade._core))

    return call


def on_loop(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method that calls a plain method of `_core` on the loop."""

    @functools.wraps(method)
    def call(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        async def called() -> R:
            return method(facade._core, *args, **kwargs)

        thread: LoopThread = facade._thread
        return thread.run(called())

    return call
