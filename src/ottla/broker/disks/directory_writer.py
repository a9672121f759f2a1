"""A thread that appends to the logs of one directory, on a node that has several.

A buffered write can hang: on a network or user-space file system, or on a disk whose cache is full. On the event loop
it would hold up everybody. A node with one directory has nothing else to serve then, and appends on the loop, which is
quickest. With several directories, each has a writer: its thread appends; `settle` and the answer run on the loop.

Guarantees
- Order: what was put first is appended first. `settle` runs on the loop in the same order, whether anybody still waits
  or not, and before whoever waits hears of it.
- Every wait has a deadline, then REQUEST_TIMED_OUT. The append stays in the queue all the same and happens when the
  disk wakes up, so that what follows it in the queue still follows it in the log. As after any timeout, the client
  cannot know; an idempotent producer repeats the batch and gets it once.
- Memory: the queue holds QUEUED_BYTES_MAX at most, plus the one append that passes the limit, however long the disk
  hangs and however often clients try again. Anything beyond is held back while somebody waits for it, one request for
  each connection, and dropped as soon as that request gives up.
- What the broker itself writes (coordinators, markers) goes ahead of what is held back: producers that keep a disk busy
  must not stop groups and transactions. It cannot be held back, because coordinators go on deciding meanwhile; beyond
  OWN_QUEUED_BYTES_MAX it is refused.
- A disk that fails is reported. Then all who wait get KAFKA_STORAGE_ERROR, and so does everything that comes later.

Nothing here survives a crash: what is in the queue was not acknowledged.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from ottla.broker.host import Host
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.schema import Records
from ottla.storage.errors import StorageError

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

QUEUED_BYTES_MAX = 64 * 1024 * 1024
OWN_QUEUED_BYTES_MAX = 8 * 1024 * 1024
# What an append takes in memory beside its records, so that very small ones are bounded as well.
_OVERHEAD_BYTES = 4096


class QueuedAppend(Generic[T]):
    """An append on its way. It may be waited for by several, or by nobody."""

    __slots__ = (
        "_drop",
        "_error",
        "_outcome",
        "_raised",
        "_records",
        "_waiters",
        "is_done",
        "is_own",
        "settle",
        "size_bytes",
        "work",
    )

    def __init__(
        self, work: Callable[[Records], T], records: Records, settle: Callable[[T], None], *, is_own: bool
    ) -> None:
        self.work = work
        self.is_own = is_own
        self._records = records
        self.size_bytes = len(records) + _OVERHEAD_BYTES
        self.settle = settle
        # Whether the outcome is known; who is told to forget it, as long as it is held back on the loop.
        self.is_done = False
        self._drop: Callable[[QueuedAppend[T]], None] | None = None
        # What the thread has to say, and what whoever waits is told: it may have been given up before.
        self._outcome: T
        self._raised: Exception | None = None
        self._error: Exception | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def hold(self, drop: Callable[["QueuedAppend[T]"], None]) -> None:
        """Waits on the loop for its place in the queue; `drop` is called if nobody wants it any more."""
        self._drop = drop

    def release(self) -> None:
        """Has its place: from now on it will be made, whoever waits."""
        self._drop = None

    def run(self) -> None:
        """The part that may wait for the disk; nothing, if the directory was given up meanwhile."""
        # Before it asks: the loop forgets the records after it has said that it is done.
        records = self._records
        if self.is_done:
            return
        try:
            self._outcome = self.work(records)
        except (ApiError, StorageError) as error:
            # Without its stack, on which there are the records and the open file: those who wait may be long in coming.
            self._raised = _without_stack(error)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it, and its stack is wanted
            self._raised = error

    def finish(self, on_storage_error: Callable[[StorageError], ApiError]) -> None:
        """The part that belongs to the loop."""
        self._error = on_storage_error(self._raised) if isinstance(self._raised, StorageError) else self._raised
        if self._error is None:
            try:
                self.settle(self._outcome)
            except Exception as error:  # noqa: BLE001 - as above
                self._error = error
        self._wake()

    def fail(self, error: ApiError) -> None:
        """Whoever waits hears of an error now, whatever becomes of the append."""
        self._error = error
        self._wake()
        self._records = b""

    def _wake(self) -> None:
        self.is_done = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def result(self, deadline: float) -> T:
        """The outcome; REQUEST_TIMED_OUT if it is not there when the loop's time reaches the deadline."""
        if not self.is_done and not await self._is_done_by(deadline):
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "The disk has not taken the records in time")
        if isinstance(self._error, ApiError):
            # Not the one that is kept here: what is raised keeps the stack of everybody whom it passes.
            raise _without_stack(self._error)
        if self._error is not None:
            raise self._error
        return self._outcome

    async def _is_done_by(self, deadline: float) -> bool:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        timer = loop.call_at(deadline, _give_up, waiter)
        try:
            await waiter
            return self.is_done
        finally:
            timer.cancel()
            self._waiters.remove(waiter)
            self.let_go()

    def let_go(self) -> None:
        """If nobody waits any more, the request that brought the records must not stay in memory with its others."""
        if self.is_done or self._waiters:
            return
        if self._drop is not None:
            message = "Too much waits for the disk already; the records were dropped"
            self.fail(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message))
            self._drop(self)
        else:
            self._records = bytes(self._records)


def _without_stack(error: E) -> E:
    """The same error, as if nobody had raised it yet."""
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


def _give_up(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class DirectoryWriter:
    """The queue of one directory, and its thread. All but the thread itself belongs to the event loop."""

    def __init__(self, host: Host, name: str, on_storage_error: Callable[[StorageError], ApiError]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_storage_error = on_storage_error
        # Given to the thread; they are done in this order.
        self._queued: deque[QueuedAppend[Any]] = deque()
        self._queued_bytes = 0
        self._own_queued_bytes = 0
        # In the order of their coming; those that are dropped leave from the middle.
        self._held: dict[QueuedAppend[Any], None] = {}
        self._done: deque[QueuedAppend[Any]] = deque()
        # Whether the loop knows that something is done: it is told once for all that is done until it looks.
        self._is_told = False
        self._failure: ApiError | None = None
        self._began_s: float | None = None
        self._host = host
        self._thread = host.start_worker(f"writer {name}")

    @property
    def busy_s(self) -> float:
        """For how long the write has lasted that is under way, 0 if there is none."""
        began_s = self._began_s
        return 0.0 if began_s is None else self._host.monotonic_s() - began_s

    def put(
        self,
        work: Callable[[Records], T],
        records: Records,
        settle: Callable[[T], None],
        *,
        is_own: bool = False,
    ) -> QueuedAppend[T]:
        """Has the thread call `work` with the records; then `settle` gets the outcome, on the loop.

        REQUEST_TIMED_OUT if they are the broker's own, and too much of that waits for the disk.
        """
        if self._failure is not None:
            raise _without_stack(self._failure)
        append = QueuedAppend(work, records, settle, is_own=is_own)
        has_room = not self._held and self._queued_bytes < QUEUED_BYTES_MAX
        if has_room or (is_own and self._own_queued_bytes < OWN_QUEUED_BYTES_MAX):
            self._give(append)
        elif is_own:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "Too much waits for the disk already")
        else:
            append.hold(self._forget)
            self._held[append] = None
        return append

    async def drain(self, deadline: float) -> None:
        """Returns when all that was put before is done; REQUEST_TIMED_OUT if the disk hangs until then."""
        await self.put(_nothing, b"", _nothing).result(deadline)

    def fail(self, error: ApiError) -> None:
        """The directory is given up: nobody waits for it any longer."""
        self._failure = error
        for append in (*self._queued, *self._held):
            if not append.is_done:
                append.fail(error)
        self._held.clear()

    def stop(self) -> None:
        """The thread ends after what is in the queue, or never if the disk never answers."""
        self._thread.stop()

    def join(self) -> None:
        """Waits for the thread to end; for another thread."""
        self._thread.join()

    def _forget(self, append: QueuedAppend[Any]) -> None:
        del self._held[append]

    def _give(self, append: QueuedAppend[Any]) -> None:
        self._queued.append(append)
        self._count(append, append.size_bytes)
        self._thread.submit(partial(self._run, append))

    def _count(self, append: QueuedAppend[Any], size_bytes: int) -> None:
        self._queued_bytes += size_bytes
        if append.is_own:
            self._own_queued_bytes += size_bytes

    def _run(self, append: QueuedAppend[Any]) -> None:
        self._began_s = self._host.monotonic_s()
        append.run()
        self._began_s = None
        self._done.append(append)
        if not self._is_told:
            self._is_told = True
            # If the loop is closed, nobody waits for anything.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._complete)

    def _complete(self) -> None:
        # Before it looks: whatever is done from now on tells the loop again.
        self._is_told = False
        while self._done:
            append = self._done.popleft()
            assert append is self._queued.popleft(), "appends are done in the order in which they were put"
            self._count(append, -append.size_bytes)
            if not append.is_done:
                append.finish(self._on_storage_error)
        while self._held and self._queued_bytes < QUEUED_BYTES_MAX:
            append = next(iter(self._held))
            del self._held[append]
            append.release()
            self._give(append)


def _nothing(_: object) -> None:
    """What a barrier does."""
