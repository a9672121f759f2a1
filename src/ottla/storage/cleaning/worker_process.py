"""The broker's side of a cleaner process: starts it when there is a job, and replaces it when it dies or hangs.

A worker that is silent for too long is killed. One that cannot even be killed, because it waits for a hung disk, is
left behind; it ends when the disk answers. Nothing here waits for it.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import ottla
from ottla.protocol.records import CorruptRecords
from ottla.storage.cleaning.job import CleanedSegment, CleaningJob, PassEnd, WorkerFailed
from ottla.storage.cleaning.messages import Begin, FailureKind, GoOn, PassFailure, Progress, SetRate
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import FileSystem

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Long enough for the sync of a large segment on a slow disk, during which nothing is reported.
SILENCE_MAX_S = 300.0
_LOOK_UP_EVERY_S = 0.25
_GOODBYE_S = 1.0


class UnforeseenFailure(Exception):
    """A pass failed for an unforeseen reason; the message is the worker's traceback."""


class WorkerProcess:
    """One cleaner process, for one thread at a time; started by the first job."""

    def __init__(
        self,
        bytes_per_s: Callable[[], float],
        *,
        silence_max_s: float = SILENCE_MAX_S,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`bytes_per_s` is called repeatedly while a job runs."""
        self._bytes_per_s = bytes_per_s
        self._silence_max_s = silence_max_s
        self._monotonic_s = monotonic_s
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        process = self._process
        return None if process is None else process.pid

    def run(self, job: CleaningJob, _: FileSystem) -> Generator[CleanedSegment | PassEnd, None, None]:
        """Run a job in the process; WorkerFailed, StorageError, CorruptRecords."""
        is_done = False
        try:
            connection = self._started()
            rate = self._bytes_per_s()
            connection.send(Begin(job, rate))
            while True:
                step, rate = self._next(connection, rate)
                if isinstance(step, PassFailure):
                    is_done = True
                    raise _failure(job, step)
                is_done = isinstance(step, PassEnd)
                yield step
                if is_done:
                    return
                connection.send(GoOn())
        except (EOFError, ConnectionError) as error:
            raise WorkerFailed(f"the cleaner process died, {self._last_words()}") from error
        finally:
            if not is_done:
                self.kill()

    def _next(self, connection: "Connection", rate: float) -> tuple[CleanedSegment | PassEnd | PassFailure, float]:
        """Receive the next message of the worker; returns it with the rate that the worker knows."""
        heard_s = self._monotonic_s()
        while True:
            if self._stopping.is_set():
                raise WorkerFailed("the node ends", was_asked_for=True)
            if connection.poll(_LOOK_UP_EVERY_S):
                told = connection.recv()
                heard_s = self._monotonic_s()
                if not isinstance(told, Progress):
                    return told, rate
            elif self._monotonic_s() - heard_s > self._silence_max_s:
                raise WorkerFailed(f"the cleaner process was silent for {self._silence_max_s:g} s")
            wanted = self._bytes_per_s()
            if wanted != rate:
                rate = wanted
                connection.send(SetRate(rate))

    def _started(self) -> "Connection":
        if self._process is not None and self._process.poll() is not None:
            self.kill()
        if self._connection is None:
            # Only a broker that compacts pays for the import.
            from multiprocessing import Pipe

            ours, theirs = Pipe()
            try:
                self._process = subprocess.Popen(
                    (sys.executable, "-m", "ottla.storage.cleaning.worker", str(theirs.fileno())),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=_environment(),
                    # Ctrl-C is meant for the node, which stops its workers.
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise WorkerFailed(f"the cleaner process cannot be started: {error}") from error
            finally:
                theirs.close()
            self._connection = ours
        return self._connection

    def _last_words(self) -> str:
        assert self._process is not None
        try:
            status = self._process.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            return "or closed its connection"
        return f"by signal {-status}" if status < 0 else f"with status {status}"

    def stop(self) -> None:
        """Give up the job that another thread waits for here, and take no other."""
        self._stopping.set()

    def close(self) -> None:
        """Let the process end; the next job starts another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            with suppress(subprocess.TimeoutExpired):
                assert self._process is not None
                self._process.wait(_GOODBYE_S)
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GOODBYE_S)


def _environment() -> dict[str, str]:
    """The environment of the node, with this package first on the path and a hash seed of its own."""
    sources = str(Path(ottla.__file__).parents[1])
    path = os.pathsep.join(filter(None, (sources, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "random"}


def _failure(job: CleaningJob, failure: PassFailure) -> Exception:
    if failure.kind is FailureKind.DISK_FULL:
        return DiskFull(job.root, "compact", job.directory, failure.message)
    if failure.kind is FailureKind.DISK:
        return StorageError(job.root, "compact", job.directory, failure.message)
    if failure.kind is FailureKind.RECORDS:
        return CorruptRecords(failure.message)
    return UnforeseenFailure(failure.message)
