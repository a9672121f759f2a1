"""The cleaner process: runs the jobs of one broker, one after the other, without holding up its event loop.

    python -m ottla.storage.cleaning.worker DESCRIPTOR

It reads segments and writes `.cleaned` files; it renames and removes nothing. It ends when the other side of its
connection is gone, however the broker ended: a thread watches for that, even in the middle of a job.
"""

import os
import queue
import sys
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection

from ottla.protocol.errors import ApiError
from ottla.storage.cleaning.cleaning_pass import CleaningPass
from ottla.storage.cleaning.job import CleaningJob, PassEnd
from ottla.storage.cleaning.messages import Begin, FailureKind, GoOn, PassFailure, Progress, SetRate
from ottla.storage.cleaning.pace import Pace
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import OsFileSystem

_PROGRESS_EVERY_S = 1.0
# Clients come before compaction when both want the processor.
_NICENESS = 5


class Worker:
    """One end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._told: queue.SimpleQueue[Begin | GoOn] = queue.SimpleQueue()
        self._pace = Pace(float("inf"), on_progress=self._report)
        self._reported_s = 0.0

    def serve(self) -> None:
        """Do jobs for ever."""
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        while True:
            told = self._told.get()
            assert isinstance(told, Begin)
            self._connection.send(self._do(told.job))

    def _listen(self) -> None:
        try:
            while True:
                told = self._connection.recv()
                if isinstance(told, Begin | SetRate):
                    # Here, in the order of the messages: a rate may change before its job has begun.
                    self._pace.bytes_per_s = told.bytes_per_s
                if not isinstance(told, SetRate):
                    self._told.put(told)
        except (EOFError, OSError):
            # Without a broker nobody needs the rest, and a job under way must not run beside a job of the next broker.
            os._exit(0)

    def _do(self, job: CleaningJob) -> PassEnd | PassFailure:
        try:
            for step in CleaningPass(job, OsFileSystem(job.root), self._pace).run():
                if isinstance(step, PassEnd):
                    return step
                self._connection.send(step)
                self._told.get()
        except DiskFull as error:
            return PassFailure(FailureKind.DISK_FULL, str(error))
        except StorageError as error:
            return PassFailure(FailureKind.DISK, str(error))
        except ApiError as error:
            return PassFailure(FailureKind.RECORDS, error.message)
        except Exception:  # noqa: BLE001 - the broker is told, and logs it
            return PassFailure(FailureKind.OURS, traceback.format_exc())
        raise AssertionError("a pass has an end")

    def _report(self) -> None:
        now_s = time.monotonic()
        if now_s - self._reported_s >= _PROGRESS_EVERY_S:
            self._reported_s = now_s
            self._connection.send(Progress())


def main(descriptor: int) -> None:
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(BrokenPipeError):
        Worker(Connection(descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
