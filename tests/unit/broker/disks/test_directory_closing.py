"""Directories are closed side by side, and one that hangs is given up."""

import asyncio
import threading
from pathlib import Path

import pytest

from ottla.broker.disks import directory_closing
from ottla.broker.disks.directory_closing import close_directories
from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.disks.directory_writer import DirectoryWriter
from ottla.broker.host import Machine
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log_directory import LogDirectory

HOST = Machine()


def threads_of(directory: LogDirectory, *, has_writer: bool = True) -> DirectoryThreads:
    failure = ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
    return DirectoryThreads(directory, DirectoryWriter(HOST, "d", lambda _: failure) if has_writer else None, HOST)


@pytest.mark.parametrize("hangs_before", [True, False])
def test_a_directory_that_hangs_is_given_up_and_the_others_are_closed(
    tmp_path: Path, hangs_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_closing, "PATIENCE_S", 30.0 if hangs_before else 0.05)
    monkeypatch.setattr("ottla.broker.disks.directory_threads.HANGING_AFTER_S", 0.0)
    is_awake = threading.Event()
    closed: list[LogDirectory] = []

    async def scenario() -> None:
        hanging, sound = (LogDirectory(OsFileSystem(tmp_path / name)) for name in ("a", "b"))
        all_threads = [threads_of(hanging), threads_of(sound)]

        def close(directory: LogDirectory) -> None:
            if directory is hanging:
                is_awake.wait()
            closed.append(directory)

        if hangs_before:
            assert all_threads[0].writer is not None
            all_threads[0].writer.put(lambda _: is_awake.wait(), b"", lambda _: None)
        try:
            assert await close_directories(all_threads, close, HOST) == [hanging]
            assert closed == [sound]
        finally:
            is_awake.set()

    asyncio.run(scenario())


def test_a_directory_that_makes_progress_may_take_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_closing, "PATIENCE_S", 1.0)
    may_end = threading.Event()

    async def scenario() -> None:
        directories = [LogDirectory(OsFileSystem(tmp_path / name)) for name in ("a", "b")]

        def close(directory: LogDirectory) -> None:
            while not may_end.wait(0.01):
                directory.closed_count += 1

        asyncio.get_running_loop().call_later(2.0, may_end.set)
        assert await close_directories([threads_of(one) for one in directories], close, HOST) == []

    asyncio.run(scenario())


def test_the_only_directory_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_closing, "PATIENCE_S", 0.0)
    may_end = threading.Event()

    async def scenario() -> None:
        only = LogDirectory(OsFileSystem(tmp_path))
        asyncio.get_running_loop().call_later(0.3, may_end.set)
        assert (
            await close_directories([threads_of(only, has_writer=False)], lambda _: assert_true(may_end.wait(30)), HOST)
            == []
        )

    asyncio.run(scenario())


def assert_true(value: bool) -> None:
    assert value
