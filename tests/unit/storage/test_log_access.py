"""What a log says to whoever holds it after its end."""

import threading
from pathlib import Path

import pytest

from ottla.storage.errors import LogGone, StorageError
from ottla.storage.log_access import LogAccess

NOW_MS = 1_700_000_000_000


def test_a_log_that_was_abandoned_says_so_and_blames_no_disk(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    for _ in range(4):
        log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(4)
    old = log.segments[:2]
    log.retire(log.directory.with_name("elsewhere"))
    for operation in (
        lambda: log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS),
        lambda: log.append_as_follower(make_batch(), now_ms=NOW_MS),
        lambda: log.read(0, 100, max_offset_exclusive=4, min_one_batch=True, allow_blocking=True),
        lambda: log.offset_for_timestamp(NOW_MS, 4),
        lambda: log.offset_of_max_timestamp(4),
        lambda: log.aborted_transactions(0, 4),
        lambda: log.flush(NOW_MS),
        lambda: log.roll(NOW_MS),
        lambda: log.truncate_to(1, NOW_MS),
        lambda: log.truncate_fully_and_start_at(9, NOW_MS),
        lambda: log.increment_log_start_offset(1),
        lambda: log.delete_old_segments(NOW_MS),
        lambda: log.delete_segments_before(2, NOW_MS),
        lambda: log.remove_deleted_files(NOW_MS),
        lambda: log.replace_segments(old, old[0], 0, NOW_MS),
        lambda: log.expire_producers(NOW_MS),
        lambda: log.assign_leader_epoch(7),
    ):
        with pytest.raises(LogGone):
            operation()
    log.close(NOW_MS)
    assert not log.directory.exists(), "nothing is written where a new log of that name may be"


def test_whoever_waits_for_the_lock_while_the_log_ends_is_told(tmp_path: Path) -> None:
    access = LogAccess(tmp_path / "t-0")
    begins = threading.Event()
    told: list[str] = []

    def change() -> None:
        begins.set()
        try:
            with access.changing():
                told.append("changed")
        except LogGone as gone:
            told.append(gone.message)

    with access.lock:
        thread = threading.Thread(target=change)
        thread.start()
        assert begins.wait(60)
        access.is_gone = True
    thread.join(60)
    assert len(told) == 1
    assert "t-0 is gone" in told[0]


def test_an_error_of_a_disk_stays_one_as_long_as_the_log_is_there(tmp_path: Path) -> None:
    access = LogAccess(tmp_path / "t-0")
    error = StorageError(tmp_path, "sync", tmp_path / "t-0", "Input/output error")
    with pytest.raises(StorageError), access.unless_gone():
        raise error
    access.is_gone = True
    with pytest.raises(LogGone), access.unless_gone():
        raise error
