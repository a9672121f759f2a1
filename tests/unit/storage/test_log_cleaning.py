import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.protocol.uuids import uuid_from_text
from ottla.storage.cleaning.job import WorkerFailed
from ottla.storage.file_system import OsFile, OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_cleaning import WORKER_FAILURES_MAX, Candidate, LeftOut, Outcome
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

NOW_MS = 1_700_000_000_000
TOPIC_ID = uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")
CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=10_000)


class Logs:
    """The compacted logs of one directory."""

    def __init__(self, path: Path, make_batch) -> None:
        self.manager = LogManager([LogDirectory(OsFileSystem(path))])
        self.cleaning = self.manager.cleaning
        self.directory = self.manager.directories[0]
        self._make_batch = make_batch

    def create(self, topic: str, closed_segments: int, config: LogConfig = CONFIG, now_ms: int = NOW_MS) -> Log:
        log = self.manager.get_or_create(topic, 0, TOPIC_ID, config, NOW_MS, is_new=True)
        for _ in range(closed_segments):
            self.add_segment(log, now_ms)
        return log

    def add_segment(self, log: Log, now_ms: int = NOW_MS) -> None:
        for _ in range(3):
            log.append_as_leader(self._make_batch(2, timestamp_ms=now_ms), leader_epoch=0, now_ms=now_ms)
        log.update_high_watermark(log.log_end_offset)
        log.roll(now_ms)

    def choose(self, now_ms: int = NOW_MS, left_out: LeftOut | None = None) -> Candidate | None:
        return self.cleaning.choose(self.cleaning.candidates(self.directory, now_ms), left_out or LeftOut())

    def chosen(self, now_ms: int = NOW_MS) -> Candidate:
        candidate = self.choose(now_ms)
        assert candidate is not None
        return candidate

    def clean_next(self, now_ms: int = NOW_MS) -> Outcome:
        return self.cleaning.clean(self.chosen(now_ms), now_ms)


@pytest.fixture
def logs(tmp_path: Path, make_batch) -> Logs:
    return Logs(tmp_path / "data", make_batch)


def damage(log: Log, segment: int) -> None:
    path = log.segments[segment].path
    path.write_bytes(path.read_bytes()[:-30] + b"\xff" * 30)


def test_the_dirtiest_log_comes_first_unless_another_is_overdue(logs: Logs) -> None:
    log = logs.create("half", 1)
    assert logs.clean_next() is Outcome.CLEANED
    logs.add_segment(log, NOW_MS)
    logs.add_segment(log, NOW_MS)
    logs.add_segment(log, NOW_MS)
    logs.create("whole", 1, now_ms=NOW_MS + 9000)
    assert logs.chosen(NOW_MS + 9000).key == ("whole", 0)
    logs.cleaning._in_progress.clear()
    # The first batch of a segment counts, with its latest record.
    later = logs.chosen(NOW_MS + 10_002)
    assert later.key == ("half", 0)
    assert later.cleanable.is_overdue
    assert later.cleanable.delay_ms == 1


def test_a_log_is_compacted_by_one_at_a_time(logs: Logs) -> None:
    logs.create("t", 1)
    chosen = logs.chosen()
    assert logs.choose() is None
    assert logs.cleaning.clean(chosen, NOW_MS) is Outcome.CLEANED
    log = logs.manager.get("t", 0)
    logs.add_segment(log)
    assert logs.choose() is not None


def test_a_log_with_a_damaged_batch_is_marked_and_told_and_the_others_go_on(logs: Logs, caplog) -> None:
    damaged = logs.create("damaged", 2)
    damage(damaged, 0)
    logs.create("sound", 1)
    with caplog.at_level(logging.ERROR):
        outcomes = {logs.clean_next(), logs.clean_next()}
    assert outcomes == {Outcome.CLEANED, Outcome.SKIPPED}
    assert logs.choose() is None
    assert "damaged-0" in caplog.text
    assert "checksum of the batch at offset 4" in caplog.text
    marked = logs.cleaning.uncleanable_in(logs.directory.path)
    assert marked == (1, sum(segment.size_bytes for segment in damaged.segments[:-1]))
    assert logs.cleaning.uncleanable_in(Path("/elsewhere")) == (0, 0)


def test_damage_in_a_later_group_marks_the_log_too(logs: Logs) -> None:
    # Segments that do not fit together: the first is in place when the second turns out to be damaged.
    log = logs.create("t", 2, LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=700))
    damage(log, 1)
    assert logs.clean_next() is Outcome.SKIPPED
    assert logs.choose() is None
    assert logs.cleaning.uncleanable_in(logs.directory.path).partitions == 1


@pytest.mark.parametrize("change", ["truncated", "made anew"])
def test_the_mark_goes_when_the_log_is(logs: Logs, change: str) -> None:
    log = logs.create("t", 2)
    damage(log, 0)
    assert logs.clean_next() is Outcome.SKIPPED
    if change == "truncated":
        log.truncate_to(4, NOW_MS)
        logs.add_segment(log)
    else:
        logs.manager.delete("t", 0, NOW_MS)
        assert logs.cleaning.uncleanable_in(logs.directory.path).partitions == 0
        logs.create("t", 1)
    assert logs.clean_next() is Outcome.CLEANED
    assert logs.cleaning.uncleanable_in(logs.directory.path).partitions == 0


def test_a_truncation_takes_back_how_far_the_log_is_clean(logs: Logs) -> None:
    log = logs.create("t", 2)
    assert logs.clean_next() is Outcome.CLEANED
    assert logs.directory.read_cleaner_offsets() == {("t", 0): 12}
    log.truncate_to(6, NOW_MS)
    for _ in range(3):
        logs.add_segment(log)
    assert logs.chosen().cleanable.first_dirty_offset == 6
    assert logs.directory.read_cleaner_offsets() == {("t", 0): 6}


def test_a_log_over_which_workers_die_again_and_again_is_given_up(logs: Logs) -> None:
    logs.create("t", 1)

    def dying(job, file_system):
        raise WorkerFailed("it died")
        yield

    for _ in range(WORKER_FAILURES_MAX):
        assert logs.cleaning.clean(logs.chosen(), NOW_MS, run=dying) is Outcome.SKIPPED
    assert logs.choose() is None
    assert logs.cleaning.uncleanable_in(logs.directory.path).partitions == 1


def test_an_error_that_nobody_foresaw_marks_the_log(logs: Logs, caplog) -> None:
    logs.create("t", 1)

    def broken(job, file_system):
        raise ZeroDivisionError
        yield

    assert logs.cleaning.clean(logs.chosen(), NOW_MS, run=broken) is Outcome.SKIPPED
    assert logs.choose() is None
    assert "ZeroDivisionError" in caplog.text


def test_what_was_left_out_is_not_tried_again_in_the_round(logs: Logs) -> None:
    logs.create("t", 1)
    left_out = LeftOut()
    left_out.note(logs.chosen(), Outcome.SKIPPED)
    logs.cleaning._in_progress.clear()
    assert logs.choose(left_out=left_out) is None
    assert logs.choose() is not None


def test_a_log_that_is_deleted_meanwhile_is_nobodys_failure(logs: Logs) -> None:
    logs.create("t", 1)
    chosen = logs.chosen()
    logs.manager.delete("t", 0, NOW_MS)
    assert logs.cleaning.clean(chosen, NOW_MS) is Outcome.SKIPPED
    assert logs.manager.online_directories == [logs.directory]
    assert logs.cleaning.uncleanable_in(logs.directory.path).partitions == 0


class InterruptedDisk(OsFileSystem):
    """Something happens just before a file of batches is opened, once."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.interruption: Callable[[], object] | None = None

    def open(self, path: Path, *, create: bool = False) -> OsFile:
        interruption, self.interruption = self.interruption, None
        if interruption is not None:
            interruption()
        return super().open(path, create=create)


@pytest.mark.parametrize("delay_ms", [0, 60_000])
def test_retention_under_a_look_at_a_log_is_no_failure_of_the_disk(tmp_path: Path, make_batch, delay_ms: int) -> None:
    both = LogConfig(cleanup_policy=frozenset({"compact", "delete"}), retention_bytes=1, file_delete_delay_ms=delay_ms)
    disk = InterruptedDisk(tmp_path / "data")
    before = Logs(tmp_path / "data", make_batch)
    before.create("t", 4, both)
    before.manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)

    # After a start nothing is known about the segments, so that their files have to be opened.
    manager = LogManager([LogDirectory(disk)])
    manager.load(lambda topic: both, recovery_threads=1, now_ms=NOW_MS)
    log = manager.get("t", 0)
    assert log is not None
    log.update_high_watermark(log.log_end_offset)
    disk.interruption = lambda: manager.retention_pass(NOW_MS)
    found = manager.cleaning.candidates(manager.directories[0], NOW_MS)
    assert [candidate.cleanable.dirty_bytes for candidate in found] == [log.segments[0].size_bytes]
    assert len(log.segments) == 2
    assert manager.online_directories == manager.directories
