"""What of a log is on the disk, and when."""

import pytest

from ottla.storage.errors import LogGone, StorageError
from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000


def append(log: Log, batch: bytes) -> None:
    log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS)


def test_a_flush_moves_the_recovery_point_after_the_sync(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(3))
    assert log.recovery_point == 0
    disk.fails_sync = True
    with pytest.raises(StorageError):
        log.flush(NOW_MS)
    assert log.recovery_point == 0
    disk.fails_sync = False
    log.flush(NOW_MS)
    assert log.recovery_point == 3


def test_a_flush_syncs_every_segment_since_the_last_one(open_log, make_batch, disk) -> None:
    log = open_log(segment_bytes=200)
    append(log, make_batch(2))
    log.flush(NOW_MS)
    disk.synced.clear()
    append(log, make_batch(2))
    append(log, make_batch(2))
    log.flush(NOW_MS)
    synced = [name for name in disk.synced if name.endswith(".log")]
    assert synced == ["00000000000000000002.log", "00000000000000000004.log"]


def test_flush_messages_says_when_an_append_must_wait_for_the_disk(open_log, make_batch) -> None:
    log = open_log(flush_messages=3)
    append(log, make_batch(2))
    assert not log.must_flush_now
    append(log, make_batch(1))
    assert log.must_flush_now
    log.flush(NOW_MS)
    assert not log.must_flush_now


@pytest.mark.parametrize("fails_sync", [False, True])
def test_a_flush_during_which_the_log_is_deleted_blames_no_disk(open_log, make_batch, disk, fails_sync: bool) -> None:
    log = open_log()
    log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)
    disk.on_sync = log.abandon
    disk.fails_sync = fails_sync
    with pytest.raises(LogGone):
        log.flush(NOW_MS)
    assert log.recovery_point == 0
