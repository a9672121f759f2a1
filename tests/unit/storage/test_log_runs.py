"""Batches that are appended together: the log they leave is the one that they would leave one by one."""

import pytest

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.append_validation import validate_client_batch
from ottla.storage.errors import StorageError
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import AppendInfo, Log
from ottla.storage.log_config import LogConfig

NOW_MS = 1_700_000_000_000


def append(log: Log, batch: bytes, *, epoch: int = 0) -> AppendInfo:
    return log.append_as_leader(batch, leader_epoch=epoch, now_ms=NOW_MS)


def append_run(log: Log, batches: list[bytes], *, epoch: int = 0):
    run = [(memoryview(batch), validate_client_batch(batch, log.config)) for batch in batches]
    return log.append_run_as_leader(run, leader_epoch=epoch, now_ms=NOW_MS)


def idempotent(make_batch, *sequences: int, epoch: int = 0, producer_id: int = 5) -> list[bytes]:
    return [
        make_batch(1, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence) for sequence in sequences
    ]


def test_a_run_of_batches_leaves_the_log_that_they_leave_one_by_one(open_log, make_batch, tmp_path) -> None:
    batches = [make_batch(count, timestamp_ms=NOW_MS - count) for count in (1, 3, 2, 9, 1, 4)]
    batches += idempotent(make_batch, 0, 1, 2) + idempotent(make_batch, 0, 1, producer_id=6)
    one_by_one = Log(
        OsFileSystem(tmp_path / "other"), tmp_path / "other" / "t-0", LogConfig(index_interval_bytes=100), now_ms=NOW_MS
    )
    for batch in batches:
        append(one_by_one, batch, epoch=2)
    log = open_log(index_interval_bytes=100)
    info = append_run(log, batches[:4], epoch=2)
    assert (info.first_offset, info.last_offset, info.leader_epoch, info.max_timestamp) == (0, 14, 2, NOW_MS - 1)
    assert append_run(log, batches[4:], epoch=2).first_offset == 15
    log.update_high_watermark(log.log_end_offset)
    for one in (log, one_by_one):
        one.roll(NOW_MS)
    files = [sorted((path.name, path.read_bytes()) for path in one.directory.iterdir()) for one in (log, one_by_one)]
    assert files[0] == files[1]
    assert len(files[0]) > 4
    assert log.leader_epochs.entries == [(2, 0)]
    assert [state.to_entry() for state in log.producer_states()] == [
        state.to_entry() for state in one_by_one.producer_states()
    ]
    one_by_one.abandon()


def test_a_run_that_is_not_simply_next_is_left_to_be_appended_one_by_one(open_log, make_batch) -> None:
    log = open_log()
    append_run(log, idempotent(make_batch, 0, 1))
    for sequences in ((1, 2), (2, 2), (2, 4), (2, 1)):
        assert append_run(log, idempotent(make_batch, *sequences)) is None
    assert append_run(log, idempotent(make_batch, 2) + idempotent(make_batch, 0, epoch=1)) is None
    with pytest.raises(ApiError) as refused:
        append_run(log, [make_batch(1), *idempotent(make_batch, 3)])
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    with pytest.raises(ApiError) as fenced:
        append_run(log, idempotent(make_batch, 2), epoch=-1)
    assert fenced.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert log.log_end_offset == 2
    assert append_run(log, idempotent(make_batch, 2, 3)).last_offset == 3


def test_of_a_run_that_a_full_disk_does_not_take_nothing_stays(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(3))
    size = log.size_bytes
    run = idempotent(make_batch, 0, 1)
    for free_bytes in (0, 50, len(run[0]) + 10):
        disk.free_bytes = free_bytes
        with pytest.raises(StorageError):
            append_run(log, run)
        assert (log.log_end_offset, log.segments[0].path.stat().st_size) == (3, size)
    disk.free_bytes = None
    assert append_run(log, run).first_offset == 3


def test_a_run_begins_a_segment_if_it_does_not_fit_and_is_refused_if_it_fits_in_none(open_log, make_batch) -> None:
    batch = make_batch(1)
    log = open_log(segment_bytes=3 * len(batch))
    append(log, batch)
    assert append_run(log, [batch] * 3).first_offset == 1
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    with pytest.raises(ApiError) as refused:
        append_run(log, [batch] * 4)
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 4


def test_of_a_producer_that_a_snapshot_brought_back_each_batch_is_looked_at_alone(open_log, make_batch) -> None:
    log = open_log()
    append_run(log, idempotent(make_batch, 0, 1))
    log.close(NOW_MS)
    log = open_log(was_clean=True, recovery_point=2)
    assert append_run(log, idempotent(make_batch, 2, 3)) is None
    assert append(log, idempotent(make_batch, 0)[0]).is_duplicate
    assert append_run(log, idempotent(make_batch, 2, 3)).last_offset == 3
