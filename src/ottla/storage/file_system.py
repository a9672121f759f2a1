"""The one door through which everything durable reaches the operating system.

`FileSystem` and `File` are what the storage package needs of a disk; `OsFileSystem` is the real one. A simulated disk
can take its place and lose, tear or refuse writes on demand. One FileSystem serves one log directory: any OSError
becomes a StorageError that names this directory, so that the owner takes it offline and leaves the others alone. If
there is no space left it becomes a DiskFull, and the owner only refuses the write.

`append` is one system call and may be short or fail halfway; the caller knows the size before and cuts back to it.
`read_warm` never waits for the disk: it returns None where it would have to, and the caller reads again in a thread.

A file stays usable for reads that are under way in other threads after it was renamed or removed, because its
descriptor is closed only when the last reference to the File goes. `close` is for the owner who knows that no reader
is left.
"""

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ottla.protocol.compression import Buffer
from ottla.storage.errors import DirectoryInUse, DiskFull, StorageError

# Where a directory cannot tell warm pages from cold ones (tmpfs, macOS), bytes this near to the end count as warm: they
# were written a moment ago.
_WARM_TAIL_BYTES = 8 * 1024 * 1024

_RWF_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NOWAIT_UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)

_sync_data = getattr(os, "fdatasync", os.fsync)

# CPython's own call for an uninitialised bytearray: filling a megabyte with zeros costs as much as reading it.
_unfilled_bytearray = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t)(
    ("PyByteArray_FromStringAndSize", ctypes.pythonapi)
)


# Python's own posix_fallocate makes the file grow, so that appends would follow zeros.
_fallocate = getattr(ctypes.CDLL(None), "fallocate", None)
if _fallocate is not None:
    _fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_FALLOC_FL_KEEP_SIZE = 1


class File(Protocol):
    """An open file that grows at its end and is read anywhere."""

    path: Path

    def append(self, parts: Sequence[Buffer]) -> int:
        """Write the parts at the end in one call; the number of bytes that the system took."""

    def read(self, position: int, size: int) -> Buffer:
        """Up to `size` bytes, fewer only at the end of the file; may wait for the disk."""

    def read_warm(self, position: int, size: int) -> Buffer | None:
        """Exactly `size` bytes if all of them are in memory, else None."""

    def truncate(self, size: int) -> None:
        """Cut the file to a size."""

    def reserve(self, size: int) -> None:
        """Set space aside for a file of this size, if the disk can and has it; the file does not grow."""

    def sync(self) -> None:
        """Wait until everything written is on the disk."""

    def size(self) -> int:
        """The size now."""

    def close(self) -> None:
        """Release the descriptor; no read may be under way."""


class FileLock(Protocol):
    """A lock held on a file."""

    def release(self) -> None:
        """Give it up."""


class FileSystem(Protocol):
    """The operations on one log directory."""

    root: Path

    def open(self, path: Path, *, create: bool = False) -> File:
        """Open a file for reading and appending."""

    def read_file(self, path: Path) -> bytes | None:
        """The contents, None if there is no such file."""

    def write_file(self, path: Path, data: Buffer, *, sync: bool) -> None:
        """Make the file hold these bytes, on the disk if `sync`; not atomic."""

    def file_size(self, path: Path) -> int | None:
        """The size, None if there is no such file."""

    def modified_ms(self, path: Path) -> int:
        """When the file was written last, in ms since 1970."""

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        """Set when the file was written last; this need not be durable."""

    def list_directory(self, path: Path) -> list[str]:
        """The names in a directory."""

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory of this name."""

    def make_directory(self, path: Path) -> None:
        """Create a directory and its parents, if missing."""

    def rename(self, source: Path, target: Path) -> None:
        """Rename atomically, over an existing target; durable after `sync_directory`."""

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""

    def remove_tree(self, path: Path) -> None:
        """Remove a directory with everything in it, if it is there."""

    def sync_directory(self, path: Path) -> None:
        """Make names created, renamed and removed in a directory durable."""

    def lock(self, path: Path) -> FileLock:
        """Hold the file's lock; DirectoryInUse if someone else does."""


def append_whole(file_system: FileSystem, path: Path, data: Buffer) -> None:
    """Add bytes to the end of a file, all of them or, with StorageError, none."""
    file = file_system.open(path)
    size = file.size()
    if file.append((data,)) != len(data):
        file.truncate(size)
        raise DiskFull(file_system.root, "write", path, "the disk took only a part")


class OsFileSystem:
    """The disk under one log directory."""

    def __init__(self, root: Path, *, trusts_tails: bool = True) -> None:
        """With `trusts_tails`, the last bytes written count as warm where reads cannot be told not to wait."""
        self.root = root
        self.reads_without_waiting = _RWF_NOWAIT != 0
        self.trusts_tails = trusts_tails

    def open(self, path: Path, *, create: bool = False) -> "OsFile":
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with self._blaming("open", path):
            return OsFile(self, path, os.open(path, flags, 0o644))

    def read_file(self, path: Path) -> bytes | None:
        with self._blaming("read", path):
            try:
                return path.read_bytes()
            except FileNotFoundError:
                return None

    def write_file(self, path: Path, data: Buffer, *, sync: bool) -> None:
        with self._blaming("write", path), open(path, "wb", buffering=0) as file:
            if file.write(data) != len(data):
                raise DiskFull(self.root, "write", path, "the disk took only a part")
            if sync:
                with self._blaming("sync", path):
                    os.fsync(file.fileno())

    def file_size(self, path: Path) -> int | None:
        with self._blaming("look at", path):
            try:
                return path.stat().st_size
            except FileNotFoundError:
                return None

    def modified_ms(self, path: Path) -> int:
        with self._blaming("look at", path):
            return path.stat().st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        with self._blaming("date", path):
            os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def list_directory(self, path: Path) -> list[str]:
        with self._blaming("list", path):
            return os.listdir(path)  # noqa: PTH208 - names are wanted, not one Path object for each of thousands

    def is_directory(self, path: Path) -> bool:
        with self._blaming("look at", path):
            return path.is_dir()

    def make_directory(self, path: Path) -> None:
        with self._blaming("create", path):
            path.mkdir(parents=True, exist_ok=True)

    def rename(self, source: Path, target: Path) -> None:
        with self._blaming("rename", source):
            source.replace(target)

    def remove(self, path: Path) -> None:
        with self._blaming("remove", path):
            path.unlink(missing_ok=True)

    def remove_tree(self, path: Path) -> None:
        with self._blaming("remove", path):
            try:
                shutil.rmtree(path)
            except FileNotFoundError:
                return

    def sync_directory(self, path: Path) -> None:
        with self._blaming("sync", path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def lock(self, path: Path) -> "OsFileLock":
        with self._blaming("lock", path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # flock tells apart two brokers in one process, the POSIX lock is the one that a JVM takes.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise DirectoryInUse(path) from None
        return OsFileLock(descriptor)

    @contextmanager
    def _blaming(self, operation: str, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.failure(operation, path, error) from error

    def failure(self, operation: str, path: Path, error: OSError) -> StorageError:
        # A sync that fails because there is no space has lost data: that is a failed disk.
        is_full = error.errno in _NO_SPACE and operation != "sync"
        return (DiskFull if is_full else StorageError)(self.root, operation, path, error.strerror or str(error))


class OsFile:
    """A file of an OsFileSystem."""

    __slots__ = ("_descriptor", "_file_system", "path")

    def __init__(self, file_system: OsFileSystem, path: Path, descriptor: int) -> None:
        self.path = path
        self._file_system = file_system
        self._descriptor = descriptor

    def append(self, parts: Sequence[Buffer]) -> int:
        try:
            return os.writev(self._descriptor, parts)
        except OSError as error:
            raise self._file_system.failure("write", self.path, error) from error

    def read(self, position: int, size: int) -> Buffer:
        try:
            data = os.pread(self._descriptor, size, position)
            if len(data) == size:
                return data
            whole = bytearray(data)
            while data and len(whole) < size:
                data = os.pread(self._descriptor, size - len(whole), position + len(whole))
                whole += data
        except OSError as error:
            raise self._file_system.failure("read", self.path, error) from error
        return whole

    def read_warm(self, position: int, size: int) -> Buffer | None:
        if not self._file_system.reads_without_waiting:
            return self._read_tail(position, size)
        data = _unfilled_bytearray(None, size)
        try:
            count = os.preadv(self._descriptor, (data,), position, _RWF_NOWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _NOWAIT_UNSUPPORTED:
                self._file_system.reads_without_waiting = False
                return self._read_tail(position, size)
            raise self._file_system.failure("read", self.path, error) from error
        return data if count == size else None

    def _read_tail(self, position: int, size: int) -> Buffer | None:
        if not self._file_system.trusts_tails or position < self.size() - _WARM_TAIL_BYTES:
            return None
        data = self.read(position, size)
        return data if len(data) == size else None

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._file_system.failure("truncate", self.path, error) from error

    def reserve(self, size: int) -> None:
        # If the space is missing, the append that needs it will fail.
        if _fallocate is not None:
            _fallocate(self._descriptor, _FALLOC_FL_KEEP_SIZE, 0, size)

    def sync(self) -> None:
        try:
            _sync_data(self._descriptor)
        except OSError as error:
            raise self._file_system.failure("sync", self.path, error) from error

    def size(self) -> int:
        try:
            return os.fstat(self._descriptor).st_size
        except OSError as error:
            raise self._file_system.failure("look at", self.path, error) from error

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


class OsFileLock:
    """A lock that lasts as long as its descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
