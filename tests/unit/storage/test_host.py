"""Storage runs with the clock, the names and the threads that it is given."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ottla.storage.errors import DiskFull
from ottla.storage.file_system import OsFileSystem
from ottla.storage.host import ProcessHost
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.storage.partition_directories import DELETE_SUFFIX, is_deleted_directory, marked_directory_name


class InlineExecutor(Executor):
    """Runs at once what others run in a thread."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **named))
        return future


class CountingHost(ProcessHost):
    """Names directories by numbers, and notes which threads it is asked for."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.pools: list[tuple[int, str]] = []

    def random_uuid(self) -> bytes:
        return next(self._numbers).to_bytes(16)

    def thread_pool(self, size: int, name: str) -> Executor:
        self.pools.append((size, name))
        return InlineExecutor()


class ScriptedClock(ProcessHost):
    """Has these times, one after the other."""

    def __init__(self, *times_s: float) -> None:
        self._times_s = iter(times_s)

    def monotonic_s(self) -> float:
        return next(self._times_s)


def test_directories_have_names_and_threads_of_their_host(tmp_path: Path) -> None:
    host = CountingHost()
    first, second = (LogDirectory(OsFileSystem(tmp_path / name), host) for name in ("a", "b"))
    logs = LogManager([first, second], host=host)
    logs.load(lambda _: LogConfig(), recovery_threads=3, now_ms=0)
    logs.get_or_create("orders", 0, None, LogConfig(), 0, is_new=True)
    move = logs.begin_move("orders", 0, second, 0)
    assert [path.name for path in second.path.iterdir() if path.is_dir()] == [f"orders-0.{1:032x}-future"]
    logs.finish_move(move, bytes(16), 0)
    assert [path.name for path in first.path.iterdir() if path.is_dir()] == [f"orders-0.{2:032x}-delete"]
    logs.close(broker_epoch=1, now_ms=0, threads_per_directory=2)
    assert host.pools == [(3, "log-recovery")] * 2 + [(2, "log-closing")] * 2


def test_a_full_directory_is_told_of_now_and_then_by_the_clock_of_the_host(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = LogManager([LogDirectory(OsFileSystem(tmp_path))], host=ScriptedClock(100.0, 105.0, 109.0, 110.0, 112.0))
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            logs.fail_directory(DiskFull(tmp_path, "write", tmp_path, "No space left on device"))
    assert sum("has no space left" in record.getMessage() for record in caplog.records) == 2
    logs.directories[0].take_offline()


def test_the_real_host_gives_suffixes_that_mark_a_directory_and_differ() -> None:
    suffixes = {ProcessHost().random_uuid().hex() for _ in range(10)}
    assert len(suffixes) == 10
    assert all(is_deleted_directory(marked_directory_name("t", 0, one, DELETE_SUFFIX)) for one in suffixes)
