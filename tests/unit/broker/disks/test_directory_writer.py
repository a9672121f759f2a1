"""Appends in a thread: their order, their waiters, their memory."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.disks import directory_writer
from ottla.broker.disks.directory_writer import DirectoryWriter, QueuedAppend
from ottla.broker.host import Machine
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.schema import Records
from ottla.storage.errors import DiskFull, LogGone, StorageError

SOON_S = 0.01
PATIENCE_S = 30.0


class Disk:
    """What is written to it, once it is awake."""

    def __init__(self) -> None:
        self.is_awake = threading.Event()
        self.has_begun = threading.Event()
        self.written: list[bytes] = []
        self.error: StorageError | None = None

    def write(self, records: Records) -> int:
        self.has_begun.set()
        assert self.is_awake.wait(PATIENCE_S)
        if self.error is not None:
            raise self.error
        self.written.append(bytes(records))
        return len(self.written)


class Writing:
    """A writer before a disk that hangs, and what became known of its appends on the loop."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.settled: list[int] = []
        self.failures: list[StorageError] = []
        self.writer = DirectoryWriter(Machine(), "d", self._failed)

    def _failed(self, error: StorageError) -> ApiError:
        self.failures.append(error)
        failure = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        self.writer.fail(failure)
        return failure

    def put(self, records: Records = b"r") -> QueuedAppend[int]:
        return self.writer.put(self.disk.write, records, self.settled.append)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.is_awake.set()


def run(disk: Disk, scenario: Callable[[Writing], Coroutine[Any, Any, None]]) -> None:
    async def with_writer() -> None:
        writing = Writing(disk)
        try:
            await scenario(writing)
        finally:
            disk.is_awake.set()
            writing.writer.stop()
            await asyncio.to_thread(writing.writer.join)

    asyncio.run(with_writer())


def within(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def timed_out(append: QueuedAppend[int]) -> bool:
    with pytest.raises(ApiError) as refused:
        await append.result(within(SOON_S))
    return refused.value.code is ErrorCode.REQUEST_TIMED_OUT


def test_what_is_put_first_is_written_and_settled_first(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        appends = [writing.put(b"%d" % number) for number in range(5)]
        assert not disk.written
        disk.is_awake.set()
        assert [await append.result(within(PATIENCE_S)) for append in reversed(appends)] == [5, 4, 3, 2, 1]
        assert disk.written == [b"0", b"1", b"2", b"3", b"4"]
        assert writing.settled == [1, 2, 3, 4, 5]

    run(disk, scenario)


def test_an_append_that_nobody_waits_for_any_more_is_made_and_settled_all_the_same(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        writing.put(b"under way")
        request = bytearray(b"a large request, and its records")
        given_up = writing.put(memoryview(request)[-7:])
        assert await timed_out(given_up)
        # The request is free to go.
        request[-7:] = b"nothing"
        cancelled = asyncio.ensure_future(writing.put().result(within(PATIENCE_S)))
        await asyncio.sleep(0)
        cancelled.cancel()
        last = writing.put()
        disk.is_awake.set()
        assert await last.result(within(PATIENCE_S)) == 4
        assert writing.settled == [1, 2, 3, 4]
        assert disk.written[1] == b"records"
        assert await given_up.result(within(SOON_S)) == 2

    run(disk, scenario)


def test_several_may_wait_for_one_append(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        append = writing.put()
        waiting = [asyncio.ensure_future(append.result(within(PATIENCE_S))) for _ in range(2)]
        assert await timed_out(append)
        disk.is_awake.set()
        assert await asyncio.gather(*waiting) == [1, 1]

    run(disk, scenario)


def test_more_than_the_queue_may_hold_waits_on_the_loop_and_goes_with_its_request(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 8000)

    async def scenario(writing: Writing) -> None:
        in_queue = [writing.put(b"%d" % number) for number in range(2)]
        held = [writing.put(b"%d" % number) for number in range(2, 5)]
        assert await timed_out(in_queue[1])
        assert await timed_out(held[1])
        disk.is_awake.set()
        assert await held[2].result(within(PATIENCE_S)) == 4
        assert disk.written == [b"0", b"1", b"2", b"4"]
        with pytest.raises(ApiError) as dropped:
            await held[1].result(within(SOON_S))
        assert dropped.value.code is ErrorCode.KAFKA_STORAGE_ERROR

    run(disk, scenario)


class Request(bytearray):
    """A request's bytes, of which one can tell whether they are still there."""


def test_what_requests_brought_that_gave_up_is_gone_while_the_disk_still_hangs(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 50_000)
    size = 10_000

    async def scenario(writing: Writing) -> None:
        requests: list[weakref.ref[Request]] = []
        writing.put(b"under way")
        await asyncio.to_thread(disk.has_begun.wait)
        for _ in range(100):
            request = Request(size)
            requests.append(weakref.ref(request))
            append = writing.put(memoryview(request)[size // 2 :])
            del request
            assert await timed_out(append)
            del append
        assert [request for request in requests if request() is not None] == []
        disk.is_awake.set()
        await writing.writer.drain(within(PATIENCE_S))
        # What was in the queue is made; it takes one more than it may hold.
        assert size < sum(map(len, disk.written)) < 50_000 + size

    run(disk, scenario)


def test_a_request_that_will_not_wait_for_its_appends_lets_them_go(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 8000)

    async def scenario(writing: Writing) -> None:
        request = Request(100)
        is_there = weakref.ref(request)
        appends = [writing.put(memoryview(request)) for _ in range(5)]
        del request
        await asyncio.to_thread(disk.has_begun.wait)
        for append in appends[1:]:
            append.let_go()
        del append
        disk.is_awake.set()
        await writing.writer.drain(within(PATIENCE_S))
        assert disk.written == [bytes(100)] * 2
        del appends
        assert is_there() is None

    run(disk, scenario)


def test_what_the_broker_writes_itself_goes_ahead_of_what_is_held_back(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 8000)

    async def scenario(writing: Writing) -> None:
        for number in range(4):
            writing.put(b"%d" % number)
        own = writing.writer.put(disk.write, b"own", writing.settled.append, is_own=True)
        disk.is_awake.set()
        await own.result(within(PATIENCE_S))
        await writing.writer.drain(within(PATIENCE_S))
        assert disk.written == [b"0", b"1", b"own", b"2", b"3"]

    run(disk, scenario)


def test_what_the_broker_writes_itself_is_refused_when_too_much_of_it_waits(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 0)
    monkeypatch.setattr(directory_writer, "OWN_QUEUED_BYTES_MAX", 8000)

    async def scenario(writing: Writing) -> None:
        def put() -> QueuedAppend[int]:
            return writing.writer.put(disk.write, b"r", writing.settled.append, is_own=True)

        for _ in range(2):
            put()
        with pytest.raises(ApiError) as refused:
            put()
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
        disk.is_awake.set()
        monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 8000)
        await writing.writer.drain(within(PATIENCE_S))
        assert await put().result(within(PATIENCE_S)) == 3

    run(disk, scenario)


def test_a_barrier_passes_what_is_held_back_and_is_never_refused(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_writer, "QUEUED_BYTES_MAX", 8000)
    monkeypatch.setattr(directory_writer, "OWN_QUEUED_BYTES_MAX", 1)

    async def scenario(writing: Writing) -> None:
        for number in range(4):
            writing.put(b"%d" % number)
        writing.writer.put(disk.write, b"own", writing.settled.append, is_own=True)
        for _ in range(3):
            writing.writer.barrier(lambda: disk.write(b"barrier"), writing.settled.append)
        disk.is_awake.set()
        await writing.writer.drain(within(PATIENCE_S))
        assert disk.written == [b"0", b"1", b"own", b"barrier", b"barrier", b"barrier", b"2", b"3"]
        assert writing.settled == [1, 2, 3, 4, 5, 6, 7, 8]

    run(disk, scenario)


def test_an_append_that_failed_leaves_nothing_of_what_it_worked_with(disk: Disk) -> None:
    class OpenFile:
        pass

    async def scenario(writing: Writing) -> None:
        files: list[weakref.ref[OpenFile]] = []

        def work(_: Records) -> None:
            file = OpenFile()
            files.append(weakref.ref(file))
            raise errors[len(files) - 1]

        errors = [DiskFull(Path("/d"), "write", Path("/d/f"), "full"), LogGone(Path("/d/t-0"))]
        codes = []
        gc.disable()
        try:
            for _ in range(2):
                append = writing.writer.put(work, b"", work)
                try:
                    await append.result(within(PATIENCE_S))
                except ApiError as error:
                    codes.append(error.code)
                    assert type(error) is (LogGone if len(codes) == 2 else ApiError)
                del append
            errors.clear()
            assert [file for file in files if file() is not None] == []
        finally:
            gc.enable()
        assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER]

    def refuse(writing: Writing) -> Coroutine[Any, Any, None]:
        # A full disk is no failure of the directory.
        writing.writer._on_storage_error = lambda error: ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        return scenario(writing)

    run(disk, refuse)


def test_a_directory_that_is_given_up_keeps_no_records_of_those_that_waited(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        writing.put(b"under way")
        await asyncio.to_thread(disk.has_begun.wait)
        requests = [Request(100) for _ in range(3)]
        waiting = [asyncio.ensure_future(writing.put(request).result(within(PATIENCE_S))) for request in requests]
        are_there = [weakref.ref(request) for request in requests]
        requests.clear()
        await asyncio.sleep(0)
        writing.writer.fail(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "given up"))
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {ApiError}
        del outcomes
        waiting.clear()
        assert [request for request in are_there if request() is not None] == []
        disk.is_awake.set()

    run(disk, scenario)
    assert disk.written == [b"under way"]


def test_a_disk_error_is_reported_once_and_ends_the_waiting(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        disk.error = StorageError(Path("/d"), "write", Path("/d/f"), "broken")
        appends = [writing.put() for _ in range(3)]
        disk.is_awake.set()
        for append in appends:
            with pytest.raises(ApiError) as refused:
                await append.result(within(PATIENCE_S))
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert [str(failure) for failure in writing.failures] == [str(disk.error)]
        with pytest.raises(ApiError):
            writing.put()
        assert not writing.settled

    run(disk, scenario)


def test_who_waits_for_a_disk_that_is_given_up_hears_it_while_it_still_hangs(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        append = writing.put()
        waiting = asyncio.ensure_future(append.result(within(PATIENCE_S)))
        await asyncio.to_thread(disk.has_begun.wait)
        assert writing.writer.busy_s > 0
        writing.writer.fail(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "given up"))
        with pytest.raises(ApiError, match="given up"):
            await waiting

    run(disk, scenario)


def test_draining_waits_for_all_that_was_put_before(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        writing.put()
        with pytest.raises(ApiError):
            await writing.writer.drain(within(SOON_S))
        disk.is_awake.set()
        await writing.writer.drain(within(PATIENCE_S))
        assert writing.settled == [1]
        assert writing.writer.busy_s == 0

    run(disk, scenario)


def test_an_error_of_ours_reaches_who_waits_and_not_those_after_it(disk: Disk) -> None:
    async def scenario(writing: Writing) -> None:
        disk.is_awake.set()

        def fails(_: object) -> None:
            raise ValueError("ours")

        for append in (writing.writer.put(fails, b"", fails), writing.writer.put(lambda _: None, b"", fails)):
            with pytest.raises(ValueError, match="ours"):
                await append.result(within(PATIENCE_S))
        assert await writing.put().result(within(PATIENCE_S)) == 1

    run(disk, scenario)
