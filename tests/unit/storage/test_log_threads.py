"""Readers in other threads, while the log is appended to, retained, truncated and compacted under them."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.cleaners import due
from harness.stubborn_file_system import StubbornFileSystem
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import crc_is_valid, iterate_headers
from ottla.storage.compaction import compact
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_reading import LogRead

NOW_MS = 1_700_000_000_000
APPENDS = 400
READERS = 2


@pytest.fixture(autouse=True)
def threads_alternate_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def read_soundly(log: Log, choice: random.Random) -> None:
    """Read from anywhere to the end; every batch must be whole, in order and undamaged."""
    offset = choice.randint(log.log_start_offset, max(log.log_start_offset, log.high_watermark))
    while True:
        try:
            read = log.read(
                offset,
                choice.choice([1, 400, 5000]),
                max_offset_exclusive=log.high_watermark,
                min_one_batch=True,
                allow_blocking=True,
            )
        except ApiError as error:
            assert error.code is ErrorCode.OFFSET_OUT_OF_RANGE
            return
        previous = -1
        for position, header in iterate_headers(read.records):
            assert crc_is_valid(read.records, header, position)
            assert header.base_offset > previous
            previous = header.last_offset
        if read.next_offset <= offset:
            return
        offset = read.next_offset


def while_reading(log: Log, change: Callable[[int], None]) -> list[BaseException]:
    """Call `change` often, while threads read; what went wrong in them."""
    failures: list[BaseException] = []
    is_over = threading.Event()

    def read_on(seed: int) -> None:
        choice = random.Random(seed)
        try:
            while not is_over.is_set():
                read_soundly(log, choice)
                log.offset_for_timestamp(NOW_MS, log.high_watermark)
        except BaseException as failure:  # noqa: BLE001 - whatever it is, the test reports it
            failures.append(failure)

    readers = [threading.Thread(target=read_on, args=(seed,), daemon=True) for seed in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        for number in range(APPENDS):
            change(number)
    finally:
        is_over.set()
        for reader in readers:
            reader.join()
    return failures


def append(log: Log, make_batch, number: int) -> None:
    batch = make_batch(1 + number % 3, value=b"v" * (number % 50))
    log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def test_reads_are_sound_while_retention_runs(open_log, make_batch) -> None:
    log = open_log(segment_bytes=1000, index_interval_bytes=100, retention_bytes=4000, file_delete_delay_ms=0)

    def change(number: int) -> None:
        append(log, make_batch, number)
        log.delete_old_segments(NOW_MS)
        log.remove_deleted_files(NOW_MS)

    assert while_reading(log, change) == []


def test_reads_are_sound_while_the_log_is_truncated(open_log, make_batch) -> None:
    log = open_log(segment_bytes=1000, index_interval_bytes=100)

    def change(number: int) -> None:
        append(log, make_batch, number)
        if number % 10 == 9:
            log.truncate_to(max(log.log_end_offset - number % 29, 0), NOW_MS)

    assert while_reading(log, change) == []


def test_reads_are_sound_while_the_log_is_compacted(open_log, make_batch, disk) -> None:
    log = open_log(
        segment_bytes=1000,
        index_interval_bytes=100,
        cleanup_policy=frozenset({"compact"}),
        min_cleanable_dirty_ratio=0.0,
        file_delete_delay_ms=0,
    )

    def change(number: int) -> None:
        append(log, make_batch, number)
        if number % 40 == 39:
            cleanable = due(log, 0, NOW_MS)
            if cleanable is not None:
                compact(log, disk, cleanable, NOW_MS)
            log.remove_deleted_files(NOW_MS)

    assert while_reading(log, change) == []
    assert len(log.segments) < 10


def test_a_disk_error_of_a_reader_is_told_and_not_repeated(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    append(log, make_batch, 5)
    append(log, make_batch, 5)
    log.segments[0].unload()
    log.segments[0].path.unlink()
    with pytest.raises(Exception, match="No such file"):
        log.read(0, 1000, max_offset_exclusive=6, min_one_batch=True, allow_blocking=True)


@contextmanager
def under_way(disk: StubbornFileSystem, change: Callable[[], object]) -> Iterator[None]:
    """While a change of a log hangs, with the log's lock."""
    disk.is_asked.clear()
    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert disk.is_asked.wait(30)
        yield
    finally:
        disk.wake_up()
        thread.join()


def test_what_must_not_wait_for_the_disk_does_not_wait_for_a_change_that_hangs(
    tmp_path: Path, make_batch: Callable[..., bytes]
) -> None:
    disk = StubbornFileSystem(tmp_path)
    log = Log(disk, tmp_path / "t-0", LogConfig(retention_bytes=0), now_ms=NOW_MS)

    def append() -> None:
        log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)

    def look() -> LogRead:
        assert log.end_offset_for_epoch(0) == (0, log.log_end_offset)
        assert not log.update_high_watermark(log.high_watermark)
        assert log.size_bytes > 0
        assert log.producer_states() == []
        return log.read(log.high_watermark - 1, 1000, max_offset_exclusive=log.high_watermark, min_one_batch=True)

    append()
    log.roll(NOW_MS)
    append()
    log.update_high_watermark(log.log_end_offset)
    assert log.aborted_transactions(0, log.log_end_offset) == []
    disk.takes_appends.clear()
    with under_way(disk, append):
        look()
        assert log.aborted_in_memory(0, log.high_watermark) == []
    disk.takes_names.clear()
    with under_way(disk, lambda: log.delete_old_segments(NOW_MS)):
        assert look().is_cold, "what is read while segments go does not count"
        assert log.aborted_in_memory(log.high_watermark, log.high_watermark) is None
    log.close(NOW_MS)
