"""A pass without a process: in this thread, by the clock and on the disk that are given."""

import random
from pathlib import Path

import pytest

from ottla.storage.cleaning.inline_worker import InlineWorker
from ottla.storage.cleaning.job import WorkerFailed
from ottla.storage.compaction import compact, survey
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LogCheckpoint
from ottla.testing.sim.disk import SimulatedDisk, Survival

NOW_MS = 1_700_000_000_000
ROOT = Path("/disk")
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def sleep_s(self, seconds: float) -> None:
        self.now_s += seconds


def dirty_log(disk: SimulatedDisk, make_batch) -> Log:
    log = Log(disk, disk.root / "t-0", COMPACTED, now_ms=NOW_MS)
    for _ in range(10):
        log.append_own_as_leader(make_batch(3), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)
    log.roll(NOW_MS)
    return log


def test_a_pass_runs_on_a_disk_that_only_this_process_knows_at_the_pace_of_the_clock_given(make_batch) -> None:
    disk, clock = SimulatedDisk(ROOT), Clock()
    log = dirty_log(disk, make_batch)
    worker = InlineWorker(lambda: 10.0, monotonic_s=clock.monotonic_s, sleep_s=clock.sleep_s)
    moved_bytes = 2 * log.size_bytes
    ended = compact(log, disk, survey(log, 0, NOW_MS), NOW_MS, worker.run)
    assert ended.clean_to == 30
    assert ended.statistics is not None
    assert ended.statistics.records_kept == 3
    assert ended.statistics.seconds == clock.now_s >= moved_bytes / 10
    worker.close()
    log.close(NOW_MS)
    found = disk.after_power_cut(Survival.EVERYTHING, random.Random(0))
    assert (
        Log(found, found.root / "t-0", COMPACTED, LogCheckpoint(was_clean=True), now_ms=NOW_MS).size_bytes
        == log.size_bytes
    )


def test_a_new_rate_counts_at_once(make_batch) -> None:
    disk, clock = SimulatedDisk(ROOT), Clock()
    log = dirty_log(disk, make_batch)
    worker = InlineWorker(
        lambda: 1.0 if clock.now_s < 5 else 1e18, monotonic_s=clock.monotonic_s, sleep_s=clock.sleep_s
    )
    compact(log, disk, survey(log, 0, NOW_MS), NOW_MS, worker.run)
    assert 5 <= clock.now_s < 6


def test_a_worker_that_is_stopped_gives_up_and_leaves_the_log_as_it_was(make_batch) -> None:
    disk, clock = SimulatedDisk(ROOT), Clock()
    log = dirty_log(disk, make_batch)
    size_bytes = log.size_bytes

    def sleep_and_stop(seconds: float) -> None:
        clock.sleep_s(seconds)
        worker.stop()

    worker = InlineWorker(lambda: 1.0, monotonic_s=clock.monotonic_s, sleep_s=sleep_and_stop)
    with pytest.raises(WorkerFailed) as failure:
        compact(log, disk, survey(log, 0, NOW_MS), NOW_MS, worker.run)
    assert failure.value.was_asked_for
    assert log.size_bytes == size_bytes
    assert not [name for name in disk.list_directory(log.directory) if name.endswith(".cleaned")]
