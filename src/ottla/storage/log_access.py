"""Access to a log: one caller changes it at a time, and nobody after its end.

A log ends by being closed, deleted, moved away or lost with its directory. Then it is gone: those who still hold it get
LogGone, and no file is touched any more, since another log may have taken its directory's name. Code that waits for a
disk without holding the lock does so in `unless_gone`, which tells the error of a moved file from that of a disk.
Readers take no lock, see `segment_list`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ottla.storage.errors import LogGone, StorageError


class LogAccess:
    """The lock of one log, and whether the log is still there."""

    __slots__ = ("directory", "is_gone", "lock")

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lock = threading.RLock()
        # Becomes true under the lock, and stays so.
        self.is_gone = False

    def require(self) -> None:
        """LogGone if the log has ended."""
        if self.is_gone:
            raise LogGone(self.directory)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock of a log that is still there."""
        with self.lock:
            self.require()
            yield

    @contextmanager
    def unless_gone(self) -> Iterator[None]:
        """Turn a disk error into LogGone if the log was taken away meanwhile: its files are elsewhere."""
        try:
            yield
        except StorageError:
            if self.is_gone:
                raise LogGone(self.directory) from None
            raise
