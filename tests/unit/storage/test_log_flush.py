"""What of a log is on the disk, and when."""

import random
import threading
from pathlib import Path

import pytest

from ottla.protocol.control_records import end_txn_batch
from ottla.storage.errors import DiskFull, LogGone, StorageError
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LogCheckpoint
from ottla.testing.sim.disk import SimulatedDisk, Survival

NOW_MS = 1_700_000_000_000


def append(log: Log, batch: bytes) -> None:
    log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS)


def test_a_flush_moves_the_recovery_point_after_the_sync(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(3))
    points: list[int] = []
    disk.on_sync = lambda: points.append(log.recovery_point)
    log.flush(NOW_MS)
    assert set(points) == {0}
    assert log.recovery_point == 3


@pytest.mark.parametrize("is_closing", [False, True])
def test_after_a_failed_sync_no_later_one_is_believed(open_log, make_batch, disk, is_closing: bool) -> None:
    """The kernel tells an error once, and counts the lost pages as clean from then on."""
    log = open_log()
    append(log, make_batch(3))
    disk.fails_sync = True
    with pytest.raises(StorageError, match="Input/output error"):
        log.flush(NOW_MS)
    disk.fails_sync = False
    for _ in range(2):
        with pytest.raises(StorageError, match=r"an earlier sync failed: .*Input/output error") as refused:
            if is_closing:
                log.close(NOW_MS)
            else:
                log.flush(NOW_MS)
        assert refused.value.log_dir == disk.root
    assert log.recovery_point == 0


def test_a_flush_that_waited_for_one_that_fails_does_not_count(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(3))
    errors: list[Exception] = []

    def flush() -> None:
        try:
            log.flush(NOW_MS)
        except StorageError as error:
            errors.append(error)

    second = threading.Thread(target=flush)

    def fail_once() -> None:
        disk.fails_sync = second.ident is None
        if second.ident is None:
            second.start()

    disk.on_sync = fail_once
    flush()
    second.join()
    assert len(errors) == 2
    assert log.recovery_point == 0


def test_a_flush_that_found_no_space_may_succeed_later(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(3))

    def refuse() -> None:
        raise DiskFull(disk.root, "sync", disk.root, "No space left on device")

    disk.on_sync = refuse
    with pytest.raises(DiskFull):
        log.flush(NOW_MS)
    assert log.recovery_point == 0
    disk.on_sync = lambda: None
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


def test_an_index_of_aborted_transactions_that_recovery_made_outlives_the_next_power_cut(make_batch) -> None:
    def open_log(disk: SimulatedDisk, recovery_point: int) -> Log:
        return Log(disk, disk.root / "t-0", LogConfig(), LogCheckpoint(recovery_point=recovery_point), now_ms=NOW_MS)

    def cut_power(disk: SimulatedDisk) -> SimulatedDisk:
        return disk.after_power_cut(Survival.NOTHING, random.Random(1))

    disk = SimulatedDisk(Path("/disk"))
    log = open_log(disk, 0)
    disk.sync_directory(disk.root)
    append(log, make_batch(1))
    # From here on the names in the directory are synced, but not that of an index which is yet to come.
    log.flush(NOW_MS)
    append(log, make_batch(1, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    marker = end_txn_batch(producer_id=7, producer_epoch=0, is_commit=False, coordinator_epoch=0, timestamp_ms=NOW_MS)
    log.append_own_as_leader(marker, leader_epoch=0, now_ms=NOW_MS)
    log.flush(NOW_MS)
    disk = cut_power(disk)
    log = open_log(disk, log.recovery_point)
    log.roll(NOW_MS)
    append(log, make_batch(1))
    log.flush(NOW_MS)
    log = open_log(cut_power(disk), log.recovery_point)
    assert [aborted.producer_id for aborted in log.aborted_transactions(0, 4)] == [7]


@pytest.mark.parametrize("is_rolled", [True, False])
def test_half_a_batch_that_a_full_disk_took_does_not_come_back_with_a_power_cut(make_batch, is_rolled: bool) -> None:
    """It would hide what was written and synced after it, in the next segment."""
    disk = SimulatedDisk(Path("/disk"))
    log = Log(disk, disk.root / "t-0", LogConfig(), now_ms=NOW_MS)
    disk.sync_directory(disk.root)
    append(log, make_batch(1))
    log.flush(NOW_MS)
    disk.capacity_bytes = disk.used_bytes + 30
    with pytest.raises(DiskFull):
        append(log, make_batch(1))
    disk.capacity_bytes = None
    if is_rolled:
        log.roll(NOW_MS)
    append(log, make_batch(1))
    log.flush(NOW_MS)
    for seed in range(50):
        survivor = disk.after_power_cut(Survival.TORN, random.Random(seed))
        assert Log(survivor, disk.root / "t-0", LogConfig(), now_ms=NOW_MS).log_end_offset == 2


@pytest.mark.parametrize("is_rolled", [True, False])
@pytest.mark.parametrize("is_rolled_before", [True, False])
def test_what_was_truncated_does_not_come_back_with_a_power_cut(
    make_batch, is_rolled: bool, is_rolled_before: bool
) -> None:
    """It would stand where something else was written and synced since, in the next segment."""
    disk = SimulatedDisk(Path("/disk"))
    log = Log(disk, disk.root / "t-0", LogConfig(), now_ms=NOW_MS)
    disk.sync_directory(disk.root)
    append(log, make_batch(1))
    append(log, make_batch(1))
    if is_rolled_before:
        log.roll(NOW_MS)
        append(log, make_batch(1))
    log.flush(NOW_MS)
    log.truncate_to(1, NOW_MS)
    if is_rolled:
        log.roll(NOW_MS)
    for _ in range(4):
        append(log, make_batch(1, value=b"another one"))
    log.flush(NOW_MS)
    for seed in range(50):
        survivor = disk.after_power_cut(Survival.TORN, random.Random(seed))
        checkpoint = LogCheckpoint(recovery_point=log.recovery_point)
        found = Log(survivor, disk.root / "t-0", LogConfig(), checkpoint, now_ms=NOW_MS)
        assert found.log_end_offset == 5
        for offset in range(5):
            read = found.read(offset, 1, max_offset_exclusive=5, min_one_batch=True, allow_blocking=True)
            assert read.next_offset == offset + 1
