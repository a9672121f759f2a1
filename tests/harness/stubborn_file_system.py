"""A disk that does not answer, or is full, as long as a test wants it; in the test's own process."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from ottla.protocol.compression import Buffer
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import OsFile, OsFileSystem


class StubbornFileSystem(OsFileSystem):
    """Appends wait for `takes_appends`, changes of names for `takes_names`, syncs of files for `takes_syncs`.

    `is_asked` tells that an append or a change of names began, `is_syncing` that a sync of a log did.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root, trusts_tails=False)
        self.takes_appends = threading.Event()
        self.takes_names = threading.Event()
        self.takes_syncs = threading.Event()
        self.sync_error: StorageError | None = None
        self.is_syncing = threading.Event()
        self.log_sync_count = 0
        self.is_asked = threading.Event()
        self.is_full = False
        self.is_broken = False
        self.wake_up()

    def wake_up(self) -> None:
        self.takes_appends.set()
        self.takes_names.set()
        self.takes_syncs.set()

    def open(self, path: Path, *, create: bool = False) -> "StubbornFile":
        if create and self.is_full:
            raise DiskFull(self.root, "create", path, "full")
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return StubbornFile(self, path, os.open(path, flags, 0o644))

    def sync_directory(self, path: Path) -> None:
        if path == self.root:
            self.wait_for(self.takes_names)
        super().sync_directory(path)

    def rename(self, source: Path, target: Path) -> None:
        self.wait_for(self.takes_names)
        super().rename(source, target)

    def wait_for(self, event: threading.Event) -> None:
        self.is_asked.set()
        assert event.wait(30)


class StubbornFile(OsFile):
    __slots__ = ("_disk",)

    def __init__(self, disk: StubbornFileSystem, path: Path, descriptor: int) -> None:
        super().__init__(disk, path, descriptor)
        self._disk = disk

    def append(self, parts: Sequence[Buffer]) -> int:
        self._disk.wait_for(self._disk.takes_appends)
        if self._disk.is_full:
            raise DiskFull(self._disk.root, "write", self.path, "full")
        if self._disk.is_broken:
            raise StorageError(self._disk.root, "write", self.path, "broken")
        return super().append(parts)

    def sync(self) -> None:
        if self.path.suffix == ".log":
            self._disk.log_sync_count += 1
            self._disk.is_syncing.set()
        assert self._disk.takes_syncs.wait(30)
        if self._disk.sync_error is not None:
            raise self._disk.sync_error
        super().sync()
