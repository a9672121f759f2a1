"""Leader epochs of a log: who may append, what an append tells of them, and what a truncation leaves."""

import pytest

from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.storage.log import AppendInfo, Log

NOW_MS = 1_700_000_000_000
LEADER_EPOCH_POSITION = 12


def append(log: Log, batch: bytes, *, epoch: int) -> AppendInfo:
    return log.append_as_leader(batch, leader_epoch=epoch, now_ms=NOW_MS)


def test_an_append_for_a_leader_whose_epoch_is_over_is_refused_and_writes_nothing(open_log, make_batch) -> None:
    log = open_log()
    batch = make_batch(1, producer_id=5, producer_epoch=0, base_sequence=0)
    append(log, batch, epoch=3)
    log.assign_leader_epoch(5)
    size_bytes = log.size_bytes
    for late in (
        lambda: log.append_as_leader(make_batch(), leader_epoch=4, now_ms=NOW_MS),
        lambda: log.append_as_leader(batch, leader_epoch=3, now_ms=NOW_MS),
        lambda: log.append_own_as_leader(make_batch(), leader_epoch=4, now_ms=NOW_MS),
    ):
        with pytest.raises(ApiError, match=r"leader epoch [34]: epoch 5") as refused:
            late()
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (log.log_end_offset, log.size_bytes) == (1, size_bytes)
    assert log.leader_epochs.entries == [(3, 0), (5, 1)]


def test_a_damaged_epoch_on_the_disk_does_not_fence_the_next_leader(open_log, make_batch) -> None:
    log = open_log()
    for epoch in (1, 2, 2):
        append(log, make_batch(1), epoch=epoch)
    log.close(NOW_MS)
    path = log.segments[0].path
    data = bytearray(path.read_bytes())
    size = len(data) // 3
    data[size + LEADER_EPOCH_POSITION] ^= 1
    path.write_bytes(data)
    log = open_log()
    assert log.leader_epochs.latest > 1 << 16, "no checksum covers it"
    log.assign_leader_epoch(3)
    assert append(log, make_batch(1), epoch=3).first_offset == 3
    assert log.leader_epochs.entries == [(1, 0), (3, 3)]


def test_an_append_tells_the_epoch_in_which_its_commit_is_to_be_waited_for(open_log, make_batch) -> None:
    log = open_log()
    batch = make_batch(1, producer_id=5, producer_epoch=0, base_sequence=0)
    assert append(log, batch, epoch=3).leader_epoch == 3
    again = append(log, batch, epoch=6)
    assert (again.is_duplicate, again.first_offset, again.leader_epoch) == (True, 0, 6)
    assert log.append_own_as_leader(make_batch(), leader_epoch=7, now_ms=NOW_MS).leader_epoch == 7
    marker = end_txn_batch(producer_id=5, producer_epoch=1, is_commit=True, coordinator_epoch=0, timestamp_ms=NOW_MS)
    for epoch, is_duplicate in ((7, False), (8, True)):
        info = log.append_own_as_leader(marker, leader_epoch=epoch, now_ms=NOW_MS, transaction_version=2)
        assert (info.is_duplicate, info.leader_epoch) == (is_duplicate, epoch)
    followed = log.append_as_follower(make_batch(1, base_offset=9, leader_epoch=8), now_ms=NOW_MS)
    assert followed is not None
    assert followed.leader_epoch == 8


@pytest.mark.parametrize("offset", [3, 9])
def test_truncation_to_the_end_forgets_an_epoch_without_records(open_log, make_batch, offset: int) -> None:
    log = open_log()
    append(log, make_batch(3), epoch=1)
    log.assign_leader_epoch(4)
    assert log.end_offset_for_epoch(4) == (4, 3)
    assert not log.truncate_to(offset, NOW_MS), "no record goes"
    assert log.leader_epochs.entries == [(1, 0)]
    assert log.end_offset_for_epoch(4) is None
    assert log.log_end_offset == 3
