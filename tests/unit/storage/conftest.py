"""Logs on a temporary disk, and a disk that fails when told to."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Buffer
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.file_system import OsFile, OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LogCheckpoint

NOW_MS = 1_700_000_000_000


class FaultyFile(OsFile):
    """A file of a FaultyFileSystem."""

    __slots__ = ("_disk",)

    def __init__(self, disk: "FaultyFileSystem", file: OsFile) -> None:
        super().__init__(disk, file.path, file._descriptor)
        file._descriptor = -1
        self._disk = disk

    def append(self, parts: Sequence[Buffer]) -> int:
        if self._disk.free_bytes is not None:
            data = b"".join(bytes(part) for part in parts)
            taken = min(len(data), self._disk.free_bytes)
            self._disk.free_bytes -= taken
            if taken == 0:
                raise DiskFull(self._disk.root, "write", self.path, "No space left on device")
            return super().append((data[:taken],))
        return super().append(parts)

    def sync(self) -> None:
        self._disk.synced.append(self.path.name)
        self._disk.on_sync()
        if self._disk.fails_sync:
            raise StorageError(self._disk.root, "sync", self.path, "Input/output error")
        super().sync()

    def read(self, position: int, size: int) -> Buffer:
        self._disk.read_count += 1
        return super().read(position, size)

    def read_warm(self, position: int, size: int) -> Buffer | None:
        return None if self._disk.is_cold else super().read_warm(position, size)


class FaultyFileSystem(OsFileSystem):
    """The real disk, with switches for what goes wrong."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.free_bytes: int | None = None
        self.fails_sync = False
        self.is_cold = False
        self.read_count = 0
        self.synced: list[str] = []
        self.on_sync: Callable[[], None] = lambda: None

    def open(self, path: Path, *, create: bool = False) -> FaultyFile:
        return FaultyFile(self, super().open(path, create=create))


MakeBatch = Callable[..., bytes]
OpenLog = Callable[..., Log]


def build_batch(count: int = 1, *, timestamp_ms: int = NOW_MS, value: bytes = b"v" * 20, **settings: object) -> bytes:
    """Records with the keys k0, k1, ... one millisecond apart."""
    builder = BatchBuilder(**settings)  # type: ignore[arg-type]
    for number in range(count):
        builder.append(b"k%d" % number, value, timestamp_ms=timestamp_ms + number)
    return bytes(builder.build())


@pytest.fixture
def make_batch() -> MakeBatch:
    return build_batch


@pytest.fixture
def disk(tmp_path: Path) -> FaultyFileSystem:
    return FaultyFileSystem(tmp_path)


@pytest.fixture
def open_log(disk: FaultyFileSystem) -> Iterator[OpenLog]:
    """Opens the log of partition t-0, as often as wanted; settings of the log are keyword arguments."""
    opened: list[Log] = []

    def open_it(
        *,
        was_clean: bool = False,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        now_ms: int = NOW_MS,
        **settings: object,
    ) -> Log:
        log = Log(
            disk,
            disk.root / "t-0",
            LogConfig(**settings),  # type: ignore[arg-type]
            LogCheckpoint(log_start_offset, recovery_point, was_clean),
            now_ms=now_ms,
        )
        opened.append(log)
        return log

    yield open_it
    for log in opened:
        log.abandon()
