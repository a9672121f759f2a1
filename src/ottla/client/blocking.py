"""An event loop on a thread of its own, and what turns coroutine methods into blocking ones.

Ctrl-C while a call waits cancels the call on the loop and is raised where the call was made: the loop itself never sees
it, so everything can still be closed in order.
"""

import asyncio
import atexit
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


class LoopThread:
    """A running event loop for callers without one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        # A program that ends without closing its client must not hang on it: nobody joins the thread before `atexit`
        # does, which cancels what runs.
        self._thread = threading.Thread(target=self._serve, name="ottla-client", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """The result of a coroutine that runs on the loop."""
        if not self._thread.is_alive():
            coroutine.close()
            raise RuntimeError("the client was closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the loop; whatever still runs on it is cancelled."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
        atexit.unregister(self.stop)

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
    """The same method for a facade: an object with the real one as `_core`, which lives on the loop of `_thread`."""

    @functools.wraps(method)
    def call(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        thread: LoopThread = facade._thread
        return thread.run(method(facade._core, *args, **kwargs))

    return call


def on_loop(method: Callable[Concatenate[C, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A plain method of an object that lives on the loop, called there."""

    @functools.wraps(method)
    def call(facade: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        async def called() -> R:
            return method(facade._core, *args, **kwargs)

        thread: LoopThread = facade._thread
        return thread.run(called())

    return call
