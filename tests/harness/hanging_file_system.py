"""A file system that passes everything on to a directory, and hangs while it is told to.

    python hanging_file_system.py MOUNT_POINT BACKING_DIRECTORY CONTROL_DIRECTORY

While a file of that name exists in the control directory, `hang-writes` holds every write until it is gone, `hang-all`
every operation. A process that waits for one is stuck in the kernel, as it is with a real disk that does not answer.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mfusepy

_LOOK_EVERY_S = 0.02
_ATTRIBUTES = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid", "st_ino")


class HangingFileSystem(mfusepy.Operations):  # type: ignore[misc]  # not typed
    def __init__(self, backing: Path, control: Path) -> None:
        self._backing = backing
        self._control = control

    def _wait(self, *faults: str) -> None:
        while any((self._control / fault).exists() for fault in ("hang-all", *faults)):
            time.sleep(_LOOK_EVERY_S)

    def _real(self, path: str) -> Path:
        self._wait()
        return self._backing / path.removeprefix("/")

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        real = self._real(path)
        found = real.lstat() if fh is None else os.fstat(fh)
        return {name: getattr(found, name) for name in _ATTRIBUTES}

    def readdir(self, path: str, fh: int) -> Iterator[str]:
        return iter([".", "..", *(found.name for found in self._real(path).iterdir())])

    def mkdir(self, path: str, mode: int) -> int:
        self._real(path).mkdir(mode)
        return 0

    def rmdir(self, path: str) -> int:
        self._real(path).rmdir()
        return 0

    def unlink(self, path: str) -> int:
        self._real(path).unlink()
        return 0

    def rename(self, old: str, new: str) -> int:
        self._real(old).replace(self._real(new))
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._real(path))
        return {name: getattr(found, name) for name in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_frsize")}

    def open(self, path: str, flags: int) -> int:
        # The kernel tells where to write; the system below must not add that to the end.
        return os.open(self._real(path), flags & ~os.O_APPEND)

    def create(self, path: str, mode: int, fi: object = None) -> int:
        return os.open(self._real(path), os.O_RDWR | os.O_CREAT, mode)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        self._wait()
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        self._wait("hang-writes")
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        real = self._real(path)
        if fh is None:
            os.truncate(real, length)
        else:
            os.ftruncate(fh, length)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        self._wait()
        os.fsync(fh)
        return 0

    def release(self, path: str, fh: int) -> int:
        self._wait()
        os.close(fh)
        return 0


if __name__ == "__main__":
    mount_point, backing_directory, control_directory = sys.argv[1:]
    mfusepy.FUSE(HangingFileSystem(Path(backing_directory), Path(control_directory)), mount_point, foreground=True)
