"""A real cleaner process: what it does, and what is left when it, or the broker, does not go on."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.waiting import eventually
from ottla.protocol.records import CorruptRecords
from ottla.storage.cleaning.job import CleanedSegment, PassEnd, WorkerFailed
from ottla.storage.cleaning.worker_process import WorkerProcess
from ottla.storage.compaction import compact, survey
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000
COMPACT = {"cleanup_policy": frozenset({"compact"}), "min_cleanable_dirty_ratio": 0.0}
UNLIMITED = 1e18


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    made = WorkerProcess(lambda: UNLIMITED, silence_max_s=60)
    yield made
    made.kill()


def fill(log: Log, make_batch, segments: int = 2) -> None:
    for _ in range(segments):
        for _ in range(5):
            log.append_own_as_leader(make_batch(3), leader_epoch=0, now_ms=NOW_MS)
        log.update_high_watermark(log.log_end_offset)
        log.roll(NOW_MS)


def due(log: Log):
    return survey(log, 0, NOW_MS)


def leftovers(log: Log) -> list[Path]:
    return list(log.directory.glob("*.cleaned"))


def test_a_pass_in_a_process_does_the_same_as_one_here(open_log, disk, make_batch, worker) -> None:
    log = open_log(**COMPACT)
    fill(log, make_batch)
    ended = compact(log, disk, due(log), NOW_MS, worker.run)
    assert ended.clean_to == 30
    assert ended.statistics is not None
    assert (ended.statistics.records_read, ended.statistics.records_kept) == (30, 3)
    assert [segment.base_offset for segment in log.segments] == [0, 30]
    assert log.segments[0].max_timestamp == NOW_MS + 2
    first = worker.pid
    fill(log, make_batch, 1)
    assert compact(log, disk, due(log), NOW_MS, worker.run).clean_to == 45
    assert worker.pid == first, "one process does one job after the other"
    assert leftovers(log) == []


def test_a_worker_that_dies_in_the_middle_leaves_the_log_as_it_was(open_log, disk, make_batch, worker) -> None:
    log = open_log(segment_bytes=700, **COMPACT)
    fill(log, make_batch)
    before = [segment.path.read_bytes() for segment in log.segments]

    def dying(job, file_system):
        steps = worker.run(job, file_system)
        next(steps)
        os.kill(worker.pid, signal.SIGKILL)
        worker._process.wait()
        yield from steps

    with pytest.raises(WorkerFailed, match="died, by signal 9"):
        compact(log, disk, due(log), NOW_MS, dying)
    assert [segment.path.read_bytes() for segment in log.segments] == before
    assert leftovers(log) == []
    assert compact(log, disk, due(log), NOW_MS, worker.run).clean_to == 30


def test_a_worker_that_says_nothing_is_replaced(open_log, disk, make_batch) -> None:
    worker = WorkerProcess(lambda: UNLIMITED, silence_max_s=0.5)
    log = open_log(segment_bytes=700, **COMPACT)
    fill(log, make_batch)

    def hanging(job, file_system):
        steps = worker.run(job, file_system)
        yield next(steps)
        os.kill(worker.pid, signal.SIGSTOP)
        yield from steps

    with pytest.raises(WorkerFailed, match=r"was silent for 0\.5 s"):
        compact(log, disk, due(log), NOW_MS, hanging)
    assert worker.pid is None
    patient = WorkerProcess(lambda: UNLIMITED)
    assert compact(log, disk, due(log), NOW_MS, patient.run).clean_to == 30
    patient.close()


def test_stopping_gives_up_a_pass_that_is_slow(open_log, disk, make_batch) -> None:
    worker = WorkerProcess(lambda: 1.0)
    log = open_log(**COMPACT)
    fill(log, make_batch)
    worker.stop()
    with pytest.raises(WorkerFailed) as failure:
        compact(log, disk, due(log), NOW_MS, worker.run)
    assert failure.value.was_asked_for
    assert worker.pid is None
    assert leftovers(log) == []


def test_a_new_rate_reaches_a_worker_that_waits(open_log, disk, make_batch) -> None:
    asked = 0

    def rate() -> float:
        nonlocal asked
        asked += 1
        return 1.0 if asked < 5 else UNLIMITED

    worker = WorkerProcess(rate)
    log = open_log(**COMPACT)
    fill(log, make_batch)
    # At the first rate it would take an hour.
    assert compact(log, disk, due(log), NOW_MS, worker.run).clean_to == 30
    worker.close()


def test_a_damaged_batch_and_a_missing_file_are_told_and_the_worker_goes_on(open_log, disk, make_batch, worker) -> None:
    log = open_log(**COMPACT)
    fill(log, make_batch)
    path = log.segments[0].path
    data = path.read_bytes()
    path.write_bytes(data[:-30] + b"\xff" * 30)
    with pytest.raises(CorruptRecords, match="checksum of the batch at offset 12"):
        compact(log, disk, due(log), NOW_MS, worker.run)
    path.rename(path.with_suffix(".away"))
    with pytest.raises(StorageError, match="No such file") as failure:
        compact(log, disk, due(log), NOW_MS, worker.run)
    assert not isinstance(failure.value, DiskFull)
    assert failure.value.log_dir == disk.root
    path.write_bytes(data)
    assert compact(log, disk, due(log), NOW_MS, worker.run).clean_to == 30


def test_the_process_ends_with_the_broker_however_that_ends() -> None:
    program = """
        from ottla.storage.cleaning.worker_process import WorkerProcess
        worker = WorkerProcess(lambda: 1.0)
        worker._started()
        print(worker.pid, flush=True)
        input()
    """
    broker = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert broker.stdout is not None
    pid = int(broker.stdout.readline())
    assert is_alive(pid)
    broker.kill()
    broker.communicate()
    eventually(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_end_of_a_pass_is_its_last_word(open_log, disk, make_batch, worker) -> None:
    log = open_log(**COMPACT)
    fill(log, make_batch)
    steps: list[object] = []

    def listening(job, file_system):
        for step in worker.run(job, file_system):
            steps.append(step)
            yield step

    compact(log, disk, due(log), NOW_MS, listening)
    assert [type(step) for step in steps] == [CleanedSegment, PassEnd]
