"""Syncs in threads: who shares one, and what is left of those who gave up."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.host import Machine
from ottla.storage.errors import StorageError
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory

PATIENCE_S = 30.0


class SlowLog:
    """Its syncs begin, and end when they are told to."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.synced: list[int] = []
        self.end = 0
        self.error: StorageError | None = None

    def flush(self, now_ms: int) -> None:
        del now_ms
        end = self.end
        self.begun.release()
        assert self.may_end.acquire(timeout=PATIENCE_S)
        if self.error is not None:
            raise self.error
        self.synced.append(end)


Scenario = Callable[[DirectoryThreads, SlowLog], Coroutine[Any, Any, None]]


def run(scenario: Scenario) -> SlowLog:
    log = SlowLog()

    async def with_threads() -> None:
        threads = DirectoryThreads(cast(LogDirectory, None), None, Machine())
        try:
            await scenario(threads, log)
        finally:
            log.may_end.release(100)
            await asyncio.to_thread(threads.stop)

    asyncio.run(with_threads())
    return log


def flush(threads: DirectoryThreads, log: SlowLog) -> "asyncio.Future[None]":
    return threads.flush(cast(Log, log), 0)


async def begin(log: SlowLog) -> None:
    assert await asyncio.to_thread(log.begun.acquire, timeout=PATIENCE_S)


def test_a_sync_that_has_begun_does_not_serve_what_was_appended_since() -> None:
    async def scenario(threads: DirectoryThreads, log: SlowLog) -> None:
        first = flush(threads, log)
        await begin(log)
        log.end = 1
        second = flush(threads, log)
        await begin(log)
        log.may_end.release(2)
        await asyncio.gather(first, second)
        assert sorted(log.synced) == [0, 1]

    run(scenario)


def test_a_thousand_who_give_up_while_the_disk_hangs_leave_one_sync_behind() -> None:
    async def scenario(threads: DirectoryThreads, log: SlowLog) -> None:
        # As many as there are threads.
        hanging = []
        for _ in range(4):
            hanging.append(flush(threads, log))
            await begin(log)
        for _ in range(1000):
            given_up = flush(threads, log)
            given_up.cancel()
        patient = flush(threads, log)
        log.may_end.release(5)
        await asyncio.gather(*hanging, patient)

    assert len(run(scenario).synced) == 5


def test_an_error_reaches_all_who_wait_and_is_no_concern_of_who_gave_up(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(threads: DirectoryThreads, log: SlowLog) -> None:
        log.error = StorageError(Path("/d"), "sync", Path("/d/f"), "broken")
        flush(threads, log).cancel()
        await begin(log)
        log.may_end.release(2)
        with pytest.raises(StorageError, match="broken"):
            await flush(threads, log)

    run(scenario)
    assert not caplog.records
