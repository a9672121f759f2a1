"""A thread that appends to the logs of one directory, on a node that has several.

A buffered write can hang: on a network or user-space file system, or on a disk whose cache is full. On the event loop
it would block every client. A node with one directory has nothing else to serve then, and appends on the loop, which is
fastest. With several directories, each has a writer: its thread appends; `settle` and the answer run on the loop.

Guarantees
- Order: whatever is handed to the thread happens in that order. `settle` runs on the loop in the same order, whether or
  not anybody still waits, and before those who wait get the outcome. Appends are handed over in the order of `put`,
  unless some are held back: then the broker's own appends and barriers pass those.
- Every wait has a deadline, and ends with REQUEST_TIMED_OUT then. The append stays in the queue all the same and
  happens when the disk wakes up, so that the log keeps the order of the queue, unless its partition refuses it by then.
  As after any timeout, the client cannot know the outcome; an idempotent producer repeats the batch, and it is written
  once.
- Memory: the queue holds QUEUED_BYTES_MAX at most, plus the one append that passes the limit, however long the disk
  hangs and however often clients retry. Any further append is held back while its request waits, one for each
  connection, and dropped as soon as the request gives up.
- The broker's own writes (coordinators, markers) pass those that are held back: producers that keep a disk busy must
  not stop groups and transactions. They are never held back, because coordinators keep deciding meanwhile; beyond
  OWN_QUEUED_BYTES_MAX they are refused.
- Barriers, with which leader epochs begin, are handed over at once and never refused. They hold no records, and each
  change of leader puts one.
- A disk that fails is reported. Then everybody who waits gets KAFKA_STORAGE_ERROR, and so does every later append.

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
# The memory of an append beside its records, so that the bound holds for very small ones as well.
_OVERHEAD_BYTES = 4096


class QueuedAppend(Generic[T]):
    """An append in progress. Several callers may wait for it, or none."""

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
        # Whether the outcome is known; and what to call if a held-back append is not wanted any more.
        self.is_done = False
        self._drop: Callable[[QueuedAppend[T]], None] | None = None
        # The outcome from the thread, and the outcome for those who wait: the append may have been given up before.
        self._outcome: T
        self._raised: Exception | None = None
        self._error: Exception | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def hold(self, drop: Callable[["QueuedAppend[T]"], None]) -> None:
        """Holds the append back on the loop until the queue has room; calls `drop` if nobody wants it any more."""
        self._drop = drop

    def release(self) -> None:
        """The queue has room: from now on the append will happen, whether or not anybody waits."""
        self._drop = None

    def run(self) -> None:
        """Runs the part that may wait for the disk, unless the directory was given up meanwhile."""
        # Read before the check: the loop drops the records once it has declared the append done.
        records = self._records
        if self.is_done:
            return
        try:
            self._outcome = self.work(records)
        except (ApiError, StorageError) as error:
            # Drop the stack, which holds the records and the open file: it may be long before somebody takes the error.
            self._raised = _without_stack(error)
        except Exception as error:  # noqa: BLE001 - those who wait get it, with its stack
            self._raised = error

    def finish(self, on_storage_error: Callable[[StorageError], ApiError]) -> None:
        """Runs the part that belongs on the loop."""
        self._error = on_storage_error(self._raised) if isinstance(self._raised, StorageError) else self._raised
        if self._error is None:
            try:
                self.settle(self._outcome)
            except Exception as error:  # noqa: BLE001 - as above
                self._error = error
        self._wake()

    def fail(self, error: ApiError) -> None:
        """Gives an error to those who wait now, whatever becomes of the append."""
        self._error = error
        self._wake()
        self._records = b""

    def _wake(self) -> None:
        self.is_done = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def result(self, deadline: float) -> T:
        """The outcome; REQUEST_TIMED_OUT if there is none when the loop's time reaches the deadline."""
        if not self.is_done and not await self._is_done_by(deadline):
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "The disk did not write the records in time")
        if isinstance(self._error, ApiError):
            # Raise a copy: an error that is raised collects the stack of every caller.
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
        """If nobody waits any more, drops the records, so that their whole request does not stay in memory."""
        if self.is_done or self._waiters:
            return
        if self._drop is not None:
            message = "Too much waits for the disk already; the records were dropped"
            self.fail(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message))
            self._drop(self)
        else:
            self._records = bytes(self._records)


def _without_stack(error: E) -> E:
    """The same error without its stack."""
    copy = type(error).__new__(type(error), *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


def _give_up(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


class DirectoryWriter:
    """The queue of one directory, and its thread. Everything but the thread itself runs on the event loop."""

    def __init__(self, host: Host, name: str, on_storage_error: Callable[[StorageError], ApiError]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_storage_error = on_storage_error
        # Handed to the thread, which works in this order.
        self._queued: deque[QueuedAppend[Any]] = deque()
        self._queued_bytes = 0
        self._own_queued_bytes = 0
        # Held back, in the order of arrival; those that are dropped leave from the middle.
        self._held: dict[QueuedAppend[Any], None] = {}
        self._done: deque[QueuedAppend[Any]] = deque()
        # Whether the loop was woken: one call serves all appends that are done before it runs.
        self._is_told = False
        self._failure: ApiError | None = None
        self._began_s: float | None = None
        self._host = host
        self._thread = host.start_worker(f"writer {name}")

    @property
    def busy_s(self) -> float:
        """How long the current write has lasted, 0 if there is none."""
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
        """Calls `work` with the records in the thread, then `settle` with the outcome on the loop.

        REQUEST_TIMED_OUT if the records are the broker's own, and too many of those wait for the disk.
        """
        if self._failure is not None:
            raise _without_stack(self._failure)
        append = QueuedAppend(work, records, settle, is_own=is_own)
        has_room = not self._held and self._queued_bytes < QUEUED_BYTES_MAX
        if has_room or (is_own and self._own_queued_bytes < OWN_QUEUED_BYTES_MAX):
            self._hand_over(append)
        elif is_own:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "Too much waits for the disk already")
        else:
            append.hold(self._forget)
            self._held[append] = None
        return append

    def barrier(self, work: Callable[[], T], settle: Callable[[T], None]) -> None:
        """Calls `work` in the thread after all that was handed to it, then `settle` with the outcome on the loop."""
        if self._failure is not None:
            raise _without_stack(self._failure)
        self._hand_over(QueuedAppend(lambda _: work(), b"", settle, is_own=False))

    async def drain(self, deadline: float) -> None:
        """Returns when every append that was put before is done, also those that were held back; REQUEST_TIMED_OUT if
        the disk hangs until then."""
        await self.put(_nothing, b"", _nothing).result(deadline)

    def fail(self, error: ApiError) -> None:
        """Gives up the directory: everybody who waits gets the error."""
        self._failure = error
        for append in (*self._queued, *self._held):
            if not append.is_done:
                append.fail(error)
        self._held.clear()

    def stop(self) -> None:
        """Ends the thread after the queued appends; never, if the disk never answers."""
        self._thread.stop()

    def join(self) -> None:
        """Waits for the thread to end. Blocks, so another thread must call it."""
        self._thread.join()

    def _forget(self, append: QueuedAppend[Any]) -> None:
        del self._held[append]

    def _hand_over(self, append: QueuedAppend[Any]) -> None:
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
        # Reset before the queue is read: an append that is done from now on wakes the loop again.
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
            self._hand_over(append)


def _nothing(_: object) -> None:
    """What is put only to know that its turn has come."""
