"""A log that moves to another directory stays the same log, whenever the move is interrupted."""

from pathlib import Path

from ottla.protocol.batch_builder import BatchBuilder
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager

TOPIC_ID = bytes(range(16))


def manager(tmp_path: Path) -> LogManager:
    logs = LogManager([LogDirectory(OsFileSystem(tmp_path / name)) for name in ("a", "b")])
    logs.load(lambda _: LogConfig(segment_bytes=2000), recovery_threads=1, now_ms=0)
    return logs


def close(logs: LogManager) -> None:
    logs.close(broker_epoch=1, now_ms=0, threads_per_directory=1)


def append(log: Log, count: int) -> None:
    for _ in range(count):
        builder = BatchBuilder()
        builder.append(b"key", b"v" * 100, timestamp_ms=1)
        log.append_as_leader(bytes(builder.build()), leader_epoch=3, now_ms=1)


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
    move = logs.begin_move("orders", 0, logs.directories[1], 0)
    move.catch_up(0)
    append(log, 5)
    before = contents(log)
    moved = logs.finish_move(move, TOPIC_ID, 0)
    assert contents(moved) == before
    assert (moved.log_start_offset, moved.log_end_offset, moved.high_watermark) == (15, 45, 40)
    assert moved.end_offset_for_epoch(3) == (3, 45)
    assert logs.directory_of("orders", 0) is logs.directories[1]
    append(moved, 1)
    close(logs)

    again = manager(tmp_path)
    found = again.get("orders", 0)
    assert found is not None
    assert found.directory.parent == tmp_path / "b"
    assert (found.log_start_offset, found.log_end_offset) == (15, 46)
    close(again)


def test_an_unfinished_copy_is_dropped_at_the_next_start(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.get_or_create("orders", 0, TOPIC_ID, LogConfig(), 0, is_new=True)
    append(log, 3)
    logs.begin_move("orders", 0, logs.directories[1], 0).catch_up(0)
    close(logs)
    again = manager(tmp_path)
    again.retention_pass(10)
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
