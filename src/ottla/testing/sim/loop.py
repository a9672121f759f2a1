"""An event loop whose time is simulated, and which knows on which machine each of its callbacks runs.

Time moves in two ways: to the next timer when nothing else is left to do, and by CALLBACK_S for each callback, so that
code which looks at the clock between two pauses sees it move. Callbacks that are ready run in the order in which they
became so, as asyncio promises; timers that are due at the same moment run in the order in which they were set. Nothing
here depends on the real clock, on memory addresses or on chance, so two runs of the same program are the same.

Each machine has a clock of its own, which may run faster or slower than the world's. `time` and the timers of a program
follow the clock of its machine; what lies between machines is timed by the world (`world_s`, `call_at_world`).

Each callback belongs to the machine on which it was made: a context variable names it, and asyncio carries that along
to every task, timer and callback that follows. A machine that is dead runs nothing any more: its callbacks are dropped
when their turn comes. One that is paused keeps them, in order, until it goes on.

Threads are the machine's (`host`): what is given to one runs here, between two callbacks, after a simulated delay.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import heapq
import sys
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Executor
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from ottla.testing.sim.network import BoundSocket, SimulatedNetwork

    # Only those of the many methods of a loop are here that nodes and clients use; the others say that they are not.
    _EventLoop = Any
else:
    _EventLoop = asyncio.AbstractEventLoop

T = TypeVar("T")

CALLBACK_S: Final = 0.000_001
_CLEANUPS_MAX: Final = 20


class Power(Enum):
    """Whether a machine runs what belongs to it."""

    ON = auto()
    PAUSED = auto()
    OFF = auto()


class SimulatedMachine:
    """Where callbacks run. The loop looks at nothing but its power, and keeps here what waits for it to go on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.power = Power.ON
        # How many of its seconds pass in a second of the world.
        self.clock_rate = 1.0
        self.held: deque[asyncio.Handle] = deque()
        self.context: contextvars.Context | None = None

    def run_in_thread(self, executor: Executor | None, work: Callable[[], T]) -> asyncio.Future[T]:
        """The outcome of work that a thread of this machine does."""
        raise NotImplementedError


_machine: contextvars.ContextVar[SimulatedMachine | None] = contextvars.ContextVar("machine", default=None)


def machine_context(machine: SimulatedMachine) -> contextvars.Context:
    """A context in which everything belongs to a machine."""
    if machine.context is None:
        machine.context = contextvars.Context()
        machine.context.run(_machine.set, machine)
    return machine.context.copy()


def current_machine() -> SimulatedMachine:
    """The machine on which the caller runs."""
    machine = _machine.get()
    assert machine is not None, "simulated programs run on a machine: start them with `start_on`"
    return machine


def _let_go(work: Any) -> None:
    """Ends a coroutine, however often its cleanup wants to wait for something."""
    with warnings.catch_warnings():
        # What it was about to await is let go with it, and Python complains that nobody has awaited that.
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(_CLEANUPS_MAX):
            try:
                work.close()
            except Exception:  # noqa: BLE001 - nobody is left who could be told
                continue
            return


class _Handle(asyncio.Handle):
    """A handle of a loop that never debugs: asyncio asks the loop for that whenever it makes one."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], args: Sequence[Any], loop: Any, context: contextvars.Context
    ) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


class DeadlockedSimulation(Exception):
    """Nothing is left to do, and what was waited for has not come."""


class SimulatedLoop(_EventLoop):  # type: ignore[misc]
    """One for a whole simulated world."""

    def __init__(self) -> None:
        self.network: SimulatedNetwork
        self._now = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_count = 0
        self._is_running = False
        self._is_closed = False
        self._is_stopping = False
        self._accepting: dict[BoundSocket, asyncio.Handle] = {}
        # What went wrong outside of every task.
        self.failures: list[dict[str, Any]] = []
        self._dead: list[asyncio.Task[Any]] = []
        self.callback_count = 0

    # -- machines ---------------------------------------------------------------------------------------------------

    def start_on(self, machine: SimulatedMachine, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts a program on a machine; all that comes of it belongs there too."""
        task = asyncio.Task(work, loop=self, context=machine_context(machine))
        task.machine = machine  # type: ignore[attr-defined]
        return task

    def resume(self, machine: SimulatedMachine) -> None:
        """Lets a machine go on with what it was kept from."""
        machine.power = Power.ON
        self._ready.extend(machine.held)
        machine.held.clear()

    def drop(self, machine: SimulatedMachine) -> None:
        """Ends everything on a machine, between two instructions: no task of it takes another step."""
        machine.power = Power.OFF
        machine.held.clear()
        # Kept until the end: what is collected cleans up after itself, which the dead do not.
        self._dead += [task for task in asyncio.all_tasks(self) if getattr(task, "machine", None) is machine]

    # -- time -------------------------------------------------------------------------------------------------------

    @property
    def world_s(self) -> float:
        """The time of the world, whatever the clocks in it say."""
        return self._now

    def time(self) -> float:
        """What the clock says of the machine on which the caller runs."""
        machine = _machine.get()
        return self._now if machine is None else self._now * machine.clock_rate

    def call_soon(self, callback: Any, *args: Any, context: contextvars.Context | None = None) -> asyncio.Handle:
        handle = _Handle(callback, args, self, contextvars.copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        machine = _machine.get()
        delay_s = delay if machine is None else delay / machine.clock_rate
        return self.call_at_world(self._now + delay_s, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """As `call_at_world`, by the clock of the caller's machine."""
        machine = _machine.get()
        when_s = when if machine is None else when / machine.clock_rate
        return self.call_at_world(when_s, callback, *args, context=context)

    def call_at_world(
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Calls back when the world's time has come; on which machine, the context says."""
        handle = asyncio.TimerHandle(
            when, callback, args, self, contextvars.copy_context() if context is None else context
        )
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays where it is until its time has come."""

    # -- running ----------------------------------------------------------------------------------------------------

    def run_forever(self) -> None:
        previous = asyncio._get_running_loop()
        assert previous is None, "one loop at a time"
        self._is_running = True
        self._is_stopping = False
        asyncio._set_running_loop(self)
        try:
            self._run_until_stopped()
        finally:
            asyncio._set_running_loop(None)
            self._is_running = False

    def _run_until_stopped(self) -> None:
        timers, ready = self._timers, self._ready
        while not self._is_stopping:
            while timers and timers[0][0] <= self._now:
                timer = heapq.heappop(timers)[2]
                if not timer._cancelled:
                    ready.append(timer)
            if not ready:
                self._now = self._next_timer_s()
                continue
            run: Any = ready.popleft()
            if run._cancelled:
                continue
            machine = run._context.get(_machine)
            if machine is not None and machine.power is not Power.ON:
                if machine.power is Power.PAUSED:
                    machine.held.append(run)
                continue
            self._now += CALLBACK_S
            self.callback_count += 1
            try:
                run._context.run(run._callback, *run._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - as asyncio does
                what = f"{run._callback} failed"
                self.call_exception_handler({"message": what, "exception": error, "handle": run})

    def _next_timer_s(self) -> float:
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if not timers:
            raise DeadlockedSimulation("no callback is ready and no timer is set")
        return timers[0][0]

    def run_until_complete(self, future: Any) -> Any:
        task = asyncio.ensure_future(future, loop=self)
        task.add_done_callback(lambda _: self.stop())
        self.run_forever()
        return task.result()

    def stop(self) -> None:
        self._is_stopping = True

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Ends the world: whoever still waits for something is let go, and whatever that leads to has no effect."""
        self._is_closed = True
        self._ready.clear()
        self._timers.clear()
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        # What cleans up may start tasks; without a running loop asyncio would keep them for a loop that never runs.
        asyncio._set_running_loop(self)
        try:
            self._let_all_go()
            gc.collect()
        finally:
            asyncio._set_running_loop(None)
            sys.unraisablehook = hook
        self._ready.clear()
        self._timers.clear()

    def _let_all_go(self) -> None:
        waiting = {*self._dead, *asyncio.all_tasks(self)}
        let_go: set[asyncio.Task[Any]] = set()
        while waiting:
            for task in waiting:
                if not task.done():
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    _let_go(task.get_coro())
            let_go |= waiting
            waiting = asyncio.all_tasks(self) - let_go
        self._dead.clear()

    # -- tasks and futures ------------------------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, **options)
        machine = _machine.get()
        task.machine = machine  # type: ignore[attr-defined]
        if machine is not None and machine.power is Power.OFF:
            # It died in the middle of this callback, which goes on to its end.
            self._dead.append(task)
        return task

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Notes what went wrong, unless the machine or the world came to its end with it: the dead do not complain."""
        handle = context.get("handle")
        machine = _machine.get() if handle is None else handle._context.get(_machine)
        if not self._is_closed and (machine is None or machine.power is not Power.OFF):
            self.failures.append(context)

    async def shutdown_asyncgens(self) -> None:
        """None are kept."""

    # -- threads ----------------------------------------------------------------------------------------------------

    def run_in_executor(self, executor: Executor | None, func: Any, *args: Any) -> asyncio.Future[Any]:
        return current_machine().run_in_thread(executor, lambda: func(*args))

    # -- the network ------------------------------------------------------------------------------------------------

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:
        """Calls back while somebody waits to be accepted."""
        self._accepting[fd] = asyncio.Handle(callback, args, self, contextvars.copy_context())
        fd.on_waiting = lambda: self._call_acceptor(fd)
        if fd.has_waiting:
            self._call_acceptor(fd)

    def _call_acceptor(self, fd: BoundSocket) -> None:
        acceptor = self._accepting[fd]

        def accept() -> None:
            if fd in self._accepting:
                acceptor._callback(*acceptor._args)  # type: ignore[attr-defined]
                if fd.has_waiting and fd in self._accepting:
                    self._call_acceptor(fd)

        self.call_soon(accept, context=acceptor._context)  # type: ignore[attr-defined]

    def remove_reader(self, fd: Any) -> bool:
        fd.on_waiting = None
        return self._accepting.pop(fd, None) is not None

    async def connect_accepted_socket(self, protocol_factory: Any, sock: Any, **_: Any) -> Any:
        return sock.attach(protocol_factory())

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, *, ssl: Any = None, **_: Any
    ) -> Any:
        assert not ssl, "the simulated network has no TLS"
        end = await self.network.connect(current_machine(), host, port)
        protocol = protocol_factory()
        return end.attach(protocol)

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:
        return [(2, 1, 6, "", (host, port))]
