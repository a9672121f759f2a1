"""A cleaner without a process of its own: it runs passes in the calling thread, on any file system.

It is the counterpart of `WorkerProcess`, for a simulator, whose disks exist in one process alone, and for tests. A
broker has no use for it: a pass would hold the interpreter that its event loop needs.
"""

import time
from collections.abc import Callable, Generator

from ottla.storage.cleaning.job import CleanedSegment, CleaningJob, PassEnd, WorkerFailed
from ottla.storage.cleaning.pace import Pace
from ottla.storage.file_system import FileSystem


class InlineWorker:
    """Does one job after the other; another thread may stop it."""

    def __init__(
        self,
        bytes_per_s: Callable[[], float],
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
        sleep_s: Callable[[float], None] = time.sleep,
    ) -> None:
        """`bytes_per_s` is called repeatedly while a job runs."""
        self._bytes_per_s = bytes_per_s
        self._monotonic_s = monotonic_s
        self._sleep_s = sleep_s
        self._is_stopping = False

    @property
    def pid(self) -> int | None:
        """There is no process."""
        return None

    def run(self, job: CleaningJob, file_system: FileSystem) -> Generator[CleanedSegment | PassEnd, None, None]:
        """Do a job; WorkerFailed if it is stopped, StorageError, CorruptRecords."""
        # It brings NumPy along, which a broker does without: its passes run in processes of their own.
        from ottla.storage.cleaning.cleaning_pass import CleaningPass

        def look_up() -> None:
            if self._is_stopping:
                raise WorkerFailed("the node ends", was_asked_for=True)
            pace.bytes_per_s = self._bytes_per_s()

        pace = Pace(self._bytes_per_s(), on_progress=look_up, clock_s=self._monotonic_s, sleep_s=self._sleep_s)
        return CleaningPass(job, file_system, pace).run()

    def stop(self) -> None:
        """Give up the job that is under way, and take no other."""
        self._is_stopping = True

    def close(self) -> None:
        """Release what a job needed, which is nothing."""
