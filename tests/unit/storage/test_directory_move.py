"""A log that moves to another directory stays the same log, whenever the move is interrupted."""

from pathlib import Path

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.storage.errors import LogGone, StorageError
from ottla.storage.file_system import OsFileSystem
from ottla.storage.leader_epochs import EpochStart
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

TOPIC_ID = bytes(range(16))


class FailingFileSystem(OsFileSystem):
    """A disk that refuses one kind of operation."""

    failing = ""

    def _blaming(self, operation: str, path: Path):
        if operation == self.failing:
            raise StorageError(self.root, operation, path, "Input/output error")
        return super()._blaming(operation, path)


def manager(tmp_path: Path) -> LogManager:
    logs = LogManager([LogDirectory(OsFileSystem(tmp_path / name)) for name in ("a", "b")])
    logs.load(lambda _: LogConfig(segment_bytes=2000), recovery_threads=1, now_ms=0)
    return logs


def close(logs: LogManager) -> None:
    logs.close(broker_epoch=1, now_ms=0, threads_per_directory=1)


def append(log: Log, count: int, *, records: int = 1, value_bytes: int = 100, epoch: int = 3) -> None:
    for _ in range(count):
        builder = BatchBuilder()
        for _ in range(records):
            builder.append(b"key", b"v" * value_bytes, timestamp_ms=1)
        log.append_as_leader(bytes(builder.build()), leader_epoch=epoch, now_ms=1)


def contents(log: Log) -> bytes:
    data = b""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, 10**6, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True)
        data += bytes(read.records)
        offset = read.next_offset
    return data


def test_a_moved_log_has_the_same_batches_epochs_and_bounds(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(segment_bytes=2000), 0, is_new=True)
    append(log, 40)
    log.update_high_watermark(40)
    log.increment_log_start_offset(15)
    guard = log.producers.verification.begin(7, 0, 0, supports_epoch_bump=False)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    move.catch_up(0)
    append(log, 5)
    before = contents(log)
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert contents(moved) == before
    assert (moved.log_start_offset, moved.log_end_offset, moved.high_watermark) == (15, 45, 40)
    assert moved.end_offset_for_epoch(3) == (3, 45)
    assert moved.producers.verification.is_current(7, guard)
    assert logs.directory_of("orders", 0) is logs.directories[1]
    append(moved, 1)
    close(logs)

    again = manager(tmp_path)
    found = again.get("orders", 0)
    assert found is not None
    assert found.directory.parent == tmp_path / "b"
    assert (found.log_start_offset, found.log_end_offset) == (15, 46)
    close(again)


def test_a_moved_log_keeps_epochs_that_have_no_records(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    log.assign_leader_epoch(2)
    append(log, 2, epoch=2)
    # What compaction may leave of epochs 4 and 5: nothing of one, not the beginning of the other.
    builder = BatchBuilder(base_offset=12, leader_epoch=5)
    builder.append(b"key", b"value", timestamp_ms=1)
    log.append_as_follower(bytes(builder.build()), now_ms=1)
    log.leader_epochs.take_over([EpochStart(2, 0), EpochStart(4, 2), EpochStart(5, 7)])
    log.assign_leader_epoch(8)
    history = log.leader_epochs.entries
    assert history == [(2, 0), (4, 2), (5, 7), (8, 13)]
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    move.catch_up(0)
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert moved.leader_epochs.entries == history
    close(logs)

    again = manager(tmp_path)
    found = again.get("orders", 0)
    assert found is not None
    assert found.leader_epochs.entries == history[:-1], "a start forgets an epoch that nothing was written in"
    close(again)


def test_an_unfinished_copy_is_dropped_at_the_next_start(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 3)
    logs.begin_move("orders", 0, logs.directories[1], 0).catch_up(0)
    close(logs)
    again = manager(tmp_path)
    again.removal_pass(10)
    assert [path.name for path in (tmp_path / "b").iterdir() if path.is_dir()] == []
    found = again.get("orders", 0)
    assert found is not None
    assert found.log_end_offset == 3
    close(again)


def test_a_log_that_a_crash_left_twice_is_kept_once_and_whole(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    for name, count in (("a", 4), ("b", 5)):
        directory = logs.directories[("a", "b").index(name)]
        append(directory.create(("orders", 0), TOPIC_ID, LogConfig(), 0), count)
    close(logs)
    again = manager(tmp_path)
    found = again.get("orders", 0)
    assert found is not None
    assert found.log_end_offset == 5
    assert len(again.all()) == 1
    close(again)


def test_a_log_whose_segments_were_made_smaller_can_be_moved(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 10)
    append(log, 1, value_bytes=3000)
    append(log, 10)
    logs.update_config("orders", LogConfig(segment_bytes=1000))
    before = contents(log)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert contents(moved) == before
    sizes = [segment.size_bytes for segment in moved.segments]
    assert len(sizes) > 3
    assert [size for size in sizes if size > 1000] == [max(sizes)], "one batch alone is larger than a segment"
    close(logs)


def test_a_log_that_starts_inside_a_batch_can_be_moved(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 3, records=10)
    log.update_high_watermark(30)
    log.increment_log_start_offset(15)
    moved = logs.finish_move(logs.begin_move("orders", 0, logs.directories[1], 0), TOPIC_ID, 0)
    assert (moved.log_start_offset, moved.log_end_offset) == (15, 30)
    close(logs)


def test_a_copy_that_retention_overtakes_begins_anew(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(segment_bytes=1000, retention_bytes=1000), 0, is_new=True)
    append(log, 5)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    move.catch_up(0)
    append(log, 50)
    log.update_high_watermark(55)
    log.delete_old_segments(10)
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert (moved.log_start_offset, moved.log_end_offset) == (log.log_start_offset, 55)
    assert moved.segments[0].base_offset == log.log_start_offset > 5, "no hole is copied"
    close(logs)


def test_a_copy_does_not_keep_what_the_log_was_truncated_of(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 10)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    move.catch_up(0)
    log.truncate_to(5, 0)
    append(log, 2, value_bytes=30, epoch=4)
    before = contents(log)
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert moved.log_end_offset == 7
    assert contents(moved) == before
    assert moved.leader_epochs.entries == [(3, 0), (4, 5)]
    close(logs)


def test_the_lag_in_bytes_is_what_is_left_to_copy(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(segment_bytes=2000), 0, is_new=True)
    append(log, 40)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    assert move.lag_bytes == log.size_bytes
    move.catch_up(0)
    assert move.lag_bytes == 0
    size_bytes = log.size_bytes
    append(log, 30)
    log.update_high_watermark(60)
    log.increment_log_start_offset(35)
    log.delete_old_segments(0)
    appended_bytes = log.size_bytes - size_bytes
    assert log.size_bytes < 70 * 170, "retention took segments away, which does not count"
    assert appended_bytes <= move.lag_bytes <= 30 * 200 + 2000
    move.abandon()
    close(logs)


def test_a_move_that_fails_before_the_rename_leaves_the_log_usable_and_its_copy_can_be_given_up(tmp_path: Path) -> None:
    disk = FailingFileSystem(tmp_path / "b")
    logs = LogManager([LogDirectory(OsFileSystem(tmp_path / "a")), LogDirectory(disk)])
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 3)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    disk.failing = "rename"
    with pytest.raises(StorageError) as failure:
        logs.finish_move(move, TOPIC_ID, 0)
    logs.fail_directory(failure.value)
    move.abandon()
    assert logs.get("orders", 0) is log
    append(log, 1)
    log.flush(0)
    assert len(contents(log)) == log.size_bytes
    logs.directories[0].take_offline()


def test_a_move_survives_that_the_original_cannot_be_removed(tmp_path: Path) -> None:
    disk = FailingFileSystem(tmp_path / "a")
    logs = LogManager([LogDirectory(disk), LogDirectory(OsFileSystem(tmp_path / "b"))])
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 3)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    disk.failing = "rename"
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert logs.offline_paths == [tmp_path / "a"]
    assert logs.get("orders", 0) is moved
    append(moved, 1)
    logs.directories[1].take_offline()


def test_a_deleted_log_does_not_come_back_as_its_copy(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    append(logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True), 3)
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    move.catch_up(0)
    logs.delete("orders", 0, 0)
    with pytest.raises(LogGone):
        logs.finish_move(move, TOPIC_ID, 0)
    move.abandon()
    logs.removal_pass(10**6)
    assert [path for name in ("a", "b") for path in (tmp_path / name).iterdir() if path.is_dir()] == []
    close(logs)


def test_a_log_that_was_deleted_before_its_move_begins_is_gone(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    logs.delete("orders", 0, 0)
    with pytest.raises(LogGone):
        logs.begin_move("orders", 0, logs.directories[1], 0)
    close(logs)


def test_a_copy_that_cannot_even_begin_leaves_nothing(tmp_path: Path) -> None:
    disk = FailingFileSystem(tmp_path / "b")
    logs = LogManager([LogDirectory(OsFileSystem(tmp_path / "a")), LogDirectory(disk)])
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    disk.failing = "open"
    with pytest.raises(StorageError):
        logs.begin_move("orders", 0, logs.directories[1], 0)
    disk.failing = ""
    logs.removal_pass(0)
    assert [path for path in (tmp_path / "b").iterdir() if path.is_dir()] == []
    assert logs.get("orders", 0) is log
    close(logs)
