"""The real queue of a disk that hangs when a test says so."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ottla.broker.disks import directory_writer
from ottla.broker.disks.directory_writer import DirectoryWriter
from ottla.broker.host import Machine
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.append_queue import Appending
from ottla.storage.errors import StorageError
from ottla.storage.log import AppendInfo

PATIENCE_S = 30.0


class SlowDisk:
    """A disk that hangs from `hang` to `wake_up`."""

    def __init__(self) -> None:
        self._is_awake = threading.Event()
        self.queue = DirectoryWriter(Machine(), "d", _failed)

    def hang(self) -> None:
        self._is_awake.clear()
        self.queue.put(self._hang, b"", _ignore)

    def work_off(self) -> None:
        """Returns when the disk has done what was handed to it; nothing of that is settled yet."""
        is_done = threading.Event()
        self.queue.barrier(is_done.set, _ignore)
        assert is_done.wait(PATIENCE_S)

    async def settle(self) -> None:
        """Returns when everything is done and settled, also what was held back."""
        await self.queue.drain(asyncio.get_running_loop().time() + PATIENCE_S)

    async def wake_up(self) -> None:
        self._is_awake.set()
        await self.settle()

    async def close(self) -> None:
        self._is_awake.set()
        self.queue.stop()
        await asyncio.to_thread(self.queue.join)

    def _hang(self, _: object) -> None:
        assert self._is_awake.wait(PATIENCE_S)


def run_on_slow_disk(scenario: Callable[[SlowDisk], Coroutine[Any, Any, None]]) -> None:
    async def with_disk() -> None:
        disk = SlowDisk()
        try:
            await scenario(disk)
        finally:
            await disk.close()

    asyncio.run(with_disk())


def hold_back_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a client's append is held back as long as any other one waits."""
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 1)


async def outcome_of(append: AppendInfo | Appending[AppendInfo]) -> AppendInfo:
    assert not isinstance(append, AppendInfo), "there is a queue"
    return await append.result(asyncio.get_running_loop().time() + PATIENCE_S)


def _failed(error: StorageError) -> ApiError:
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))


def _ignore(_: object) -> None:
    pass
