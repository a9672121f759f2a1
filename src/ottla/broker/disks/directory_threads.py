"""The threads that may wait for the disk of one log directory.

A disk that hangs blocks every thread that uses it. So each directory has threads of its own: one that appends (if there
are several directories, see `directory_writer`), some that sync, some that read, and one that creates, deletes and
renames logs.

`is_hanging` says that an append or a read has taken so long that more would only queue up: whoever can do without the
disk does. Syncs do not count, since a busy disk may take seconds for one. At most one sync of each log waits for a
thread, and it serves all who asked before it began, so that callers who give up leave nothing behind.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar

from ottla.broker.disks.directory_writer import DirectoryWriter
from ottla.broker.host import Host
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory

T = TypeVar("T")

HANGING_AFTER_S = 3.0
_FLUSHERS = 4
_READERS = 8


class _Sync:
    """A sync of one log that was requested, and may have begun."""

    __slots__ = ("future", "has_begun")

    def __init__(self) -> None:
        self.has_begun = False
        self.future: asyncio.Future[None]


class DirectoryThreads:
    """The threads of one directory."""

    def __init__(self, directory: LogDirectory, writer: DirectoryWriter | None, host: Host) -> None:
        self._host = host
        self.directory = directory
        self.writer = writer
        self._flushers = host.thread_pool(_FLUSHERS, "flusher")
        self._readers = host.thread_pool(_READERS, "reader")
        self._changer = host.thread_pool(1, "changer")
        # The start times of the reads, syncs and changes in progress.
        self._reads: dict[object, float] = {}
        self._others: dict[object, float] = {}
        # The latest sync of each log.
        self._syncs: dict[Log, _Sync] = {}

    @property
    def is_hanging(self) -> bool:
        """Whether appends or reads hang; always False if this is the node's only directory."""
        writer = self.writer
        return writer is not None and (writer.busy_s > HANGING_AFTER_S or self._takes_long(self._reads))

    @property
    def is_slow(self) -> bool:
        """Whether anything hangs, even a sync or a rename."""
        return self.is_hanging or self._takes_long(self._others)

    def run_read(self, work: Callable[..., T], *arguments: object) -> "asyncio.Future[T]":
        """Runs a short read in a thread."""
        return self._begin(self._readers, partial(self._timed, self._reads, work, arguments))

    def run_search(self, work: Callable[..., T], *arguments: object) -> "asyncio.Future[T]":
        """Runs a search through a log, which may take long even on a healthy disk."""
        return self._begin(self._readers, partial(work, *arguments))

    def flush(self, log: Log, now_ms: int) -> "asyncio.Future[None]":
        """Syncs, in a thread, everything appended until now."""
        sync = self._syncs.get(log)
        if sync is None or sync.has_begun:
            sync = _Sync()
            sync.future = self._begin(self._flushers, partial(self._flush, sync, log, now_ms))
            sync.future.add_done_callback(partial(self._flushed, log, sync))
            self._syncs[log] = sync
        return asyncio.shield(sync.future)

    def _flush(self, sync: _Sync, log: Log, now_ms: int) -> None:
        # Set before the end of the log is read: what is appended from now on may be too late for this sync.
        sync.has_begun = True
        # An error holds this frame; it must not hold itself through a local name, or the open file stays open too.
        del sync
        self._timed(self._others, log.flush, (now_ms,))

    def _flushed(self, log: Log, sync: _Sync, future: "asyncio.Future[None]") -> None:
        if self._syncs.get(log) is sync:
            del self._syncs[log]
        if not future.cancelled():
            # Mark the error as retrieved: callers who gave up never ask for it.
            future.exception()

    def run_change(self, work: Callable[..., T], *arguments: object) -> "asyncio.Future[T]":
        """Creates, deletes or renames in a thread, after the changes that were requested before."""
        return self._begin(self._changer, partial(self._timed, self._others, work, arguments))

    def _begin(self, threads: Executor, work: Callable[[], T]) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(threads, work)

    def fail(self) -> None:
        """The directory is offline: fails its queued appends."""
        if self.writer is not None:
            self.writer.fail(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.directory.path} is offline"))

    def stop(self) -> None:
        """Starts nothing new, and waits for work in progress. Blocks, so call it in a thread."""
        if self.writer is not None:
            self.writer.stop()
            self.writer.join()
        for threads in (self._flushers, self._readers, self._changer):
            threads.shutdown()

    def _timed(self, running: dict[object, float], work: Callable[..., T], arguments: tuple[object, ...]) -> T:
        key = object()
        running[key] = self._host.monotonic_s()
        try:
            return work(*arguments)
        finally:
            del running[key]

    def _takes_long(self, running: dict[object, float]) -> bool:
        now_s = self._host.monotonic_s()
        return any(now_s - began_s > HANGING_AFTER_S for began_s in list(running.values()))
