"""A follower's log under its leader's answers."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ottla.broker.disks import directory_writer
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ApiError
from ottla.protocol.record_batch import PLACEMENT
from ottla.protocol.records import CorruptRecords
from ottla.replication.follower_state import LeaderAnswer, StartAnew, Truncate
from ottla.replication.following import Cut, Following
from ottla.replication.leader_state import Leadership
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.storage.append_validation import validate_client_batch
from ottla.storage.leader_epochs import EpochEnd
from unit.replication.partitions import TRIO, append, batch_of_one, broker_of, fetch, make, to_leader
from unit.replication.slow_disks import PATIENCE_S, SlowDisk, hold_back_clients, outcome_of, run_on_slow_disk

FOLLOWED = Leadership(leader_id=2, leader_epoch=3, replicas=(1, 2, 3), in_sync=(1, 2, 3), partition_epoch=3)


def batch(offset: int, epoch: int = 3, count: int = 1) -> bytes:
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(b"k", b"v", timestamp_ms=1)
    built = bytearray(builder.build())
    PLACEMENT.pack_into(built, 0, offset, len(built) - 12, epoch)
    return bytes(built)


def following_of(partition: Partition) -> Following:
    assert partition.following is not None
    return partition.following


def take(following: Following, records: bytes = b"", high_watermark: int = 0, log_start_offset: int = 0) -> object:
    asked = following.position
    assert asked is not None
    return following.answered(asked, LeaderAnswer(high_watermark, log_start_offset), records, now_ms=1)


def carry_out(following: Following, cut: Cut) -> None:
    work = following.begin_cut(cut, now_ms=1)
    assert callable(work)
    assert following.position is None, "nothing is asked while the log is cut"
    work()
    following.was_cut()


def place(following: Following) -> tuple[int, int]:
    assert following.position is not None
    return following.position.fetch_offset, following.position.last_fetched_epoch


def test_a_follower_appends_and_takes_over_the_watermark_as_far_as_it_has_come(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    assert place(following) == (0, -1)
    assert take(following, batch(0, count=3) + batch(3, count=2), high_watermark=9) is None
    assert place(following) == (5, 3)
    assert partition.log.high_watermark == 5
    take(following, b"", high_watermark=9)
    assert partition.log.high_watermark == 5


def test_the_log_start_follows_the_leaders_and_never_passes_the_watermark(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    take(following_of(partition), batch(0, count=10), high_watermark=4, log_start_offset=6)
    assert partition.log.log_start_offset == 4
    take(following_of(partition), b"", high_watermark=10, log_start_offset=6)
    assert partition.log.log_start_offset == 6


def test_a_divergent_follower_cuts_its_log_and_asks_again_from_there(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, leader_epoch=1))
    append(partition)
    to_leader(partition)
    append(partition)
    partition.apply(FOLLOWED)
    following = following_of(partition)
    asked = following.position
    assert asked is not None
    assert place(following) == (2, 2)
    cut = following.answered(asked, LeaderAnswer(9, 1, EpochEnd(1, 1)), b"", now_ms=1)
    assert cut == Truncate(1)
    assert (partition.log.high_watermark, partition.log.log_start_offset) == (0, 0), "divergence moves neither"
    carry_out(following, Truncate(1))
    assert place(following) == (1, 1)
    assert partition.log.log_end_offset == 1


def test_a_follower_that_its_leader_has_left_behind_starts_anew(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    take(following, batch(0, epoch=2))
    asked = following.position
    assert asked is not None
    cut = following.out_of_range(asked, 50, 60)
    assert cut == StartAnew(50)
    carry_out(following, StartAnew(50))
    assert place(following) == (50, -1)
    assert partition.log.leader_epochs.entries == []


def test_without_epochs_only_what_is_committed_is_kept(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    for _ in range(3):
        append(partition)
    partition.log.update_high_watermark(1)
    partition.log.leader_epochs.clear()
    partition.apply(FOLLOWED)
    following = following_of(partition)
    assert following.position is None
    assert following.first_cut == Truncate(1)
    carry_out(following, following.first_cut)
    assert following.first_cut is None
    assert place(following) == (1, -1)


def test_damaged_records_change_nothing(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    damaged = bytearray(batch(0))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecords):
        take(following, bytes(damaged))
    assert place(following) == (0, -1)
    take(following, batch(0))
    assert place(following) == (1, 3)


def test_a_queued_append_holds_the_position_back_until_it_is_done(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, FOLLOWED, disk.queue)
        following = following_of(partition)
        assert following.position is None, "an append of the epoch before may be under way"
        await disk.settle()
        take(following, batch(0), high_watermark=1)
        disk.work_off()
        assert following.position is None
        await disk.settle()
        assert place(following) == (1, 3)
        assert partition.log.high_watermark == 1

    run_on_slow_disk(scenario)


def test_what_was_appended_before_a_change_of_leader_moves_no_watermark_after_it(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, FOLLOWED, disk.queue)
        await disk.settle()
        take(following_of(partition), batch(0), high_watermark=1)
        disk.work_off()
        to_leader(partition)
        assert partition.following is None
        await disk.settle()
        assert partition.log.log_end_offset == 1
        assert partition.log.high_watermark == 0

    run_on_slow_disk(scenario)


def test_what_waits_for_the_disk_at_a_change_of_leader_is_not_appended(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, FOLLOWED, disk.queue)
        await disk.settle()
        disk.hang()
        take(following_of(partition), batch(0), high_watermark=1)
        to_leader(partition)
        await disk.wake_up()
        assert partition.log.log_end_offset == 0

    run_on_slow_disk(scenario)


def test_a_leader_elected_while_its_log_is_cut_begins_with_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cut has looked whether its epoch is over, and is in the log when it ends."""
    is_cutting, may_cut = threading.Event(), threading.Event()

    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, FOLLOWED, disk.queue)
        await disk.settle()
        take(following_of(partition), batch(0, count=1) + batch(1, count=9), high_watermark=10)
        await disk.settle()
        log = partition.log
        truncate = log.truncate_to

        def truncate_slowly(offset: int, now_ms: int) -> bool:
            is_cutting.set()
            assert may_cut.wait(PATIENCE_S)
            return truncate(offset, now_ms)

        monkeypatch.setattr(log, "truncate_to", truncate_slowly)
        following_of(partition).begin_cut(Truncate(1), now_ms=1)
        assert is_cutting.wait(PATIENCE_S)
        to_leader(partition, in_sync=(1,))
        appended = partition.append(batch_of_one(), acks=ACKS_ALL, now_ms=1)
        may_cut.set()
        info = await outcome_of(appended)
        assert (info.first_offset, log.log_end_offset, log.high_watermark) == (1, 2, 2)
        assert partition.is_committed(info.leader_epoch, 1)
        assert not partition.is_committed(info.leader_epoch, 2)
        fetch(partition, 2, 2)
        assert [replica for replica, _ in broker_of(partition).proposals[0].in_sync] == [1, 2]

    run_on_slow_disk(scenario)


def test_a_partition_without_a_leader_follows_nobody(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(FOLLOWED, leader_id=-1))
    assert partition.following is None
    partition.apply(replace(FOLLOWED, leader_epoch=4))
    assert following_of(partition).leader_epoch == 4


def test_a_suspended_partition_follows_nobody_until_it_is_back(tmp_path: Path) -> None:
    partition = make(tmp_path, FOLLOWED)
    following = following_of(partition)
    partition.suspend()
    assert partition.following is None
    assert following.position is None
    partition.resume()
    assert place(following_of(partition)) == (0, -1)


def enqueue(partition: Partition) -> None:
    """A client appends."""
    records = batch_of_one()
    partition.append(records, acks=1, now_ms=1, header=validate_client_batch(records, partition.log.config))


def test_an_append_that_was_held_back_does_not_grow_the_log_behind_a_new_followers_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, TRIO, disk.queue)
        await disk.wake_up()
        disk.hang()
        enqueue(partition)
        partition.apply(FOLLOWED)
        await disk.wake_up()
        following = following_of(partition)
        assert following.position is not None
        assert following.position.fetch_offset == partition.log.log_end_offset
        take(following, batch(following.position.fetch_offset))
        await disk.wake_up()
        assert place(following) == (partition.log.log_end_offset, 3)

    hold_back_clients(monkeypatch)
    run_on_slow_disk(scenario)


def test_a_partition_becomes_a_follower_however_much_waits_for_its_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_writer, "OWN_QUEUED_BYTES_MAX", 1)

    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, TRIO, disk.queue)
        await disk.wake_up()
        disk.hang()
        partition.append(batch_of_one(), acks=1, now_ms=1)
        with pytest.raises(ApiError, match="Too much waits"):
            partition.append(batch_of_one(), acks=1, now_ms=1)
        partition.apply(FOLLOWED)
        await disk.wake_up()
        following = following_of(partition)
        assert following.position is not None
        assert following.position.fetch_offset == partition.log.log_end_offset

    hold_back_clients(monkeypatch)
    run_on_slow_disk(scenario)


def test_a_cut_that_was_held_back_takes_nothing_of_the_next_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, FOLLOWED, disk.queue)
        await disk.wake_up()
        following = following_of(partition)
        take(following, batch(0, count=2))
        await disk.wake_up()
        disk.hang()
        following.begin_cut(Truncate(1), now_ms=1)
        to_leader(partition, in_sync=(1,))
        appending = partition.append(batch_of_one(), acks=1, now_ms=1)
        await disk.wake_up()
        info = await outcome_of(appending)
        assert partition.is_acknowledged(ACKS_ALL, info)
        assert partition.log.log_end_offset > info.last_offset

    hold_back_clients(monkeypatch)
    run_on_slow_disk(scenario)
