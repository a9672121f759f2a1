"""Leadership, the in-sync set and the high watermark, on a real log."""

from dataclasses import replace
from pathlib import Path

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.partition import ACKS_ALL, AppendOutcome, Partition
from ottla.replication.watchers import Interest
from ottla.storage.append_validation import validate_client_batch
from ottla.storage.log import AppendInfo
from ottla.storage.transaction_verification import VerificationGuard
from unit.replication.partitions import (
    ALONE,
    TRIO,
    append,
    append_own,
    at_once,
    batch_of_one,
    broker_of,
    fetch,
    make,
    to_follower,
    to_leader,
)
from unit.replication.slow_disks import SlowDisk, hold_back_clients, outcome_of, run_on_slow_disk


def code_of(refused: pytest.ExceptionInfo[ApiError]) -> ErrorCode:
    return refused.value.code


def test_a_leader_alone_in_sync_commits_as_it_appends(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    info = append(partition, ACKS_ALL)
    assert partition.is_committed(info.leader_epoch, info.last_offset)


def synced(partition: Partition) -> None:
    partition.log.flush(1)
    partition.synced()


def test_of_flush_messages_the_append_that_reaches_it_waits_for_the_sync(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, flush_messages=3)
    append(partition)
    append(partition)
    assert partition.log.high_watermark == 2
    assert not broker_of(partition).syncing
    held = append(partition)
    later = append(partition)
    assert partition.log.high_watermark == 2
    assert not partition.is_acknowledged(1, held)
    assert not partition.is_committed(later.leader_epoch, later.last_offset)
    assert broker_of(partition).syncing == [partition]
    synced(partition)
    assert partition.log.high_watermark == 4
    assert partition.is_acknowledged(1, later)
    append(partition)
    assert partition.log.high_watermark == 5


def test_what_was_appended_after_a_sync_looked_waits_for_the_next(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, flush_messages=1)
    first = append(partition)
    partition.log.flush(1)
    second = append(partition)
    partition.synced()
    assert partition.is_acknowledged(1, first)
    assert not partition.is_acknowledged(1, second)
    assert partition.log.high_watermark == 1
    assert len(broker_of(partition).syncing) == 2
    synced(partition)
    assert partition.log.high_watermark == 2


def test_a_record_that_replicas_have_is_committed_when_the_leader_has_synced_it(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO, flush_messages=1)
    info = append(partition)
    fetch(partition, 2, 1)
    fetch(partition, 3, 1)
    assert partition.log.high_watermark == 0
    synced(partition)
    assert partition.log.high_watermark == 1
    append(partition)
    heard: list[int] = []
    partition.watch(heard.append)
    synced(partition)
    assert heard == [0], "who asked for acks=1 looks again"
    assert partition.is_acknowledged(1, replace_offset(info, 1))
    assert not partition.is_acknowledged(ACKS_ALL, replace_offset(info, 1))


def test_who_waits_for_a_sync_looks_again_though_a_later_append_has_counted_its_records(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO, flush_messages=2)
    append(partition)
    info = append(partition)
    assert not partition.is_acknowledged(1, info)
    heard: list[int] = []
    partition.watch(heard.append)
    # The thread has synced, and the partition is yet to be told.
    partition.log.flush(1)
    append(partition)
    assert heard == []
    partition.synced()
    assert heard == [0]
    assert partition.is_acknowledged(1, info)


def replace_offset(info: AppendInfo, offset: int) -> AppendInfo:
    return info._replace(first_offset=offset, last_offset=offset)


def test_a_failed_sync_is_told_to_producers_until_it_is_tried_again(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, flush_messages=1)
    info = append(partition)
    partition.sync_failed(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "full"))
    for _ in range(2):
        with pytest.raises(ApiError) as refused:
            partition.is_acknowledged(1, info)
        assert code_of(refused) is ErrorCode.KAFKA_STORAGE_ERROR
    assert not partition.is_committed(info.leader_epoch, info.last_offset)
    partition.sync_again()
    assert not partition.is_acknowledged(1, info)
    partition.sync_again()
    assert len(broker_of(partition).syncing) == 2, "one is under way"
    synced(partition)
    assert partition.is_acknowledged(1, info)
    partition.sync_again()
    assert len(broker_of(partition).syncing) == 2, "nothing is left to sync"


def test_a_setting_that_asks_for_no_sync_any_more_releases_what_waited_for_one(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, flush_messages=1)
    info = append(partition)
    partition.sync_failed(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "full"))
    partition.update_config(replace(partition.log.config, flush_messages=100))
    assert partition.is_acknowledged(1, info)
    assert partition.log.high_watermark == 1


def test_a_sync_that_fails_while_the_partition_is_suspended_is_tried_again_when_it_is_back(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, flush_messages=1)
    info = append(partition)
    partition.suspend()
    partition.sync_failed(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "full"))
    partition.resume()
    assert len(broker_of(partition).syncing) == 2
    synced(partition)
    assert partition.is_acknowledged(1, info)


def test_what_a_crash_left_unsynced_is_readable_after_its_sync(tmp_path: Path) -> None:
    append(make(tmp_path, ALONE))
    partition = make(tmp_path, ALONE, flush_messages=1)
    assert (partition.log.log_end_offset, partition.log.high_watermark) == (1, 0)
    assert not partition.has_reached_epoch_start, "a lower end than before must not be told"
    synced(partition)
    assert partition.log.high_watermark == 1
    assert partition.has_reached_epoch_start


def test_a_sync_of_an_earlier_epoch_counts_nothing_that_was_cut_off(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO, flush_messages=1)
    append(partition)
    append(partition)
    to_follower(partition)
    partition.synced()
    to_leader(partition, in_sync=(1,))
    append(partition)
    synced(partition)
    assert partition.log.high_watermark == partition.log.log_end_offset == 1


def test_the_high_watermark_waits_for_the_slowest_in_sync_replica(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    append(partition)
    append(partition)
    assert partition.log.high_watermark == 0
    fetch(partition, 2, 2)
    assert partition.log.high_watermark == 0
    fetch(partition, 3, 1)
    assert partition.log.high_watermark == 1


def test_a_replica_that_left_the_in_sync_set_holds_nobody_up(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    append(partition)
    fetch(partition, 2, 1)
    partition.apply(replace(TRIO, in_sync=(1, 2), partition_epoch=1))
    assert partition.log.high_watermark == 1


def test_a_fetch_of_a_broker_that_is_no_replica_is_refused(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, replicas=(1, 2), in_sync=(1, 2)))
    append(partition)
    with pytest.raises(ApiError) as refused:
        fetch(partition, 9, 1)
    assert code_of(refused) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert partition.log.high_watermark == 0


def test_acks_all_is_refused_below_min_insync_replicas_before_anything_is_written(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, in_sync=(1,)), min_insync_replicas=2)
    with pytest.raises(
        ApiError, match=r"orders-0 has 1 in-sync replicas and needs 2 \(min.insync.replicas\)"
    ) as refused:
        append(partition, ACKS_ALL)
    assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 0
    append(partition, acks=1)
    assert partition.log.log_end_offset == 1


def test_a_follower_refuses_to_append(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, leader_id=2))
    with pytest.raises(ApiError, match="broker 2 leads it") as refused:
        append(partition)
    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("client_epoch", "code"), [(4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_clients_of_another_epoch_are_refused(tmp_path: Path, client_epoch: int, code: ErrorCode) -> None:
    partition = make(tmp_path, replace(ALONE, leader_epoch=5))
    partition.check_leader_epoch(5)
    partition.check_leader_epoch(-1)
    with pytest.raises(ApiError) as refused:
        partition.check_leader_epoch(client_epoch)
    assert code_of(refused) == code


def test_a_new_leader_writes_its_epoch_into_its_batches(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    append(partition)
    partition.apply(replace(ALONE, leader_epoch=3, partition_epoch=1))
    append(partition)
    assert partition.log.end_offset_for_epoch(0) == (0, 1)
    assert partition.log.end_offset_for_epoch(3) == (3, 2)


def test_watchers_hear_of_committed_bytes_and_of_lost_leadership(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    heard: list[int] = []
    partition.watch(heard.append)
    append(partition)
    assert len(heard) == 1
    assert heard[0] > 61
    partition.apply(replace(ALONE, leader_id=2, leader_epoch=1, partition_epoch=1))
    assert heard[1:] == [0]
    partition.unwatch(heard.append)


def test_readers_are_told_of_a_new_epoch_of_the_same_leader(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    told: list[int] = []
    partition.watch(told.append)
    partition.apply(replace(ALONE, leader_epoch=1, partition_epoch=1))
    assert told == [0]


def test_readers_are_told_once_that_the_oldest_records_went(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    append(partition)
    told: list[int] = []
    partition.watch(told.append)
    partition.tell_log_start()
    assert told == []
    partition.log.increment_log_start_offset(1)
    partition.tell_log_start()
    partition.tell_log_start()
    assert told == [0]


def transactional(sequence: int, producer_id: int = 7, epoch: int = 0) -> bytes:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)
    builder.append(b"k", bytes(100), timestamp_ms=1)
    return bytes(builder.build())


def marker(producer_id: int = 7, epoch: int = 0, coordinator_epoch: int = 0, *, is_commit: bool = True) -> bytes:
    return bytes(
        end_txn_batch(
            producer_id=producer_id,
            producer_epoch=epoch,
            is_commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=1,
        )
    )


def append_batch(partition: Partition, batch: bytes, verification: VerificationGuard | None = None) -> AppendInfo:
    header = validate_client_batch(batch, partition.log.config)
    return at_once(partition.append(batch, acks=ACKS_ALL, now_ms=1, header=header, verification=verification))


def test_who_reads_committed_records_is_woken_when_a_transaction_ends(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    plain: list[int] = []
    committed: list[int] = []
    partition.watch(plain.append)
    partition.watch(committed.append, Interest.STABLE)
    append(partition)
    assert len(plain) == len(committed) == 1, "no transaction is open"
    append_batch(partition, transactional(0))
    append(partition)
    append_batch(partition, transactional(0, producer_id=8))
    assert len(plain) == 4
    assert len(committed) == 1, "behind an open transaction everything waits"
    append_own(partition, marker(7))
    assert len(committed) == 2
    assert committed[1] >= len(transactional(0)) + len(batch_of_one()), "all that may be read now"
    append(partition)
    assert len(committed) == 2, "the other one is still open"
    append_own(partition, marker(8, is_commit=False))
    assert len(committed) == 3
    append(partition)
    assert len(committed) == 4
    partition.unwatch(committed.append)


def test_who_reads_committed_records_is_woken_when_the_marker_is_replicated(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    committed: list[int] = []
    partition.watch(committed.append, Interest.STABLE)
    append_batch(partition, transactional(0))
    append_own(partition, marker(7))
    for replica in (2, 3):
        fetch(partition, replica, 1)
    assert committed == []
    for replica in (2, 3):
        fetch(partition, replica, 2)
    assert len(committed) == 1
    assert partition.log.last_stable_offset == 2


def test_a_transaction_begins_with_a_guard_and_goes_on_without(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, transaction_verification_enabled=True)
    with pytest.raises(ApiError) as refused:
        append_batch(partition, transactional(0))
    assert code_of(refused) == ErrorCode.INVALID_TXN_STATE
    guard = partition.begin_verification(7, 0, 0, supports_epoch_bump=True)
    append_batch(partition, transactional(0), guard)
    assert partition.begin_verification(7, 0, 1, supports_epoch_bump=True) is None
    append_batch(partition, transactional(1))
    assert partition.begin_verification(7, 1, 0, supports_epoch_bump=True) is not None, "of another epoch"


def test_a_write_that_comes_after_its_transaction_ended_is_refused(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, transaction_verification_enabled=True)
    guard = partition.begin_verification(7, 0, 0, supports_epoch_bump=False)
    append_own(partition, marker(7, is_commit=False))
    with pytest.raises(ApiError) as refused:
        append_batch(partition, transactional(0), guard)
    assert code_of(refused) == ErrorCode.INVALID_TXN_STATE
    assert partition.log.producers.first_unstable_offset is None


def test_a_coordinators_own_transactional_batch_needs_a_guard_too(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, transaction_verification_enabled=True)
    with pytest.raises(ApiError):
        append_own(partition, transactional(-1))
    guard = partition.begin_verification(7, 0, -1, supports_epoch_bump=True)
    append_own(partition, transactional(-1), verification=guard)
    assert partition.log.producers.first_unstable_offset == 0


def test_only_who_has_its_partitions_added_asks_if_verification_is_switched_off(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, transaction_verification_enabled=False)
    assert partition.begin_verification(7, 0, 0, supports_epoch_bump=False) is None
    assert partition.begin_verification(7, 0, 0, supports_epoch_bump=True) is not None
    append_batch(partition, transactional(0))


def test_a_marker_that_comes_again_is_not_written_again(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    append_batch(partition, transactional(0))
    info = append_own(partition, marker(7, epoch=1), transaction_version=2)
    again = append_own(partition, marker(7, epoch=1), transaction_version=2)
    assert (info.is_duplicate, again.is_duplicate) == (False, True)
    assert partition.is_committed(again.leader_epoch, again.last_offset)
    assert partition.log.log_end_offset == 2
    append_own(partition, marker(7, epoch=1), transaction_version=1)
    assert partition.log.log_end_offset == 3, "before version 2 nobody can tell"


def enqueue(partition: Partition, acks: int = 1) -> AppendOutcome:
    batch = batch_of_one()
    return partition.append(batch, acks=acks, now_ms=1, header=validate_client_batch(batch, partition.log.config))


def test_a_guard_is_looked_at_when_the_queued_append_has_its_turn(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, ALONE, disk.queue, transaction_verification_enabled=True)
        await disk.settle()
        disk.hang()
        guard = partition.begin_verification(7, 0, 0, supports_epoch_bump=True)
        partition.append(marker(7, epoch=1), acks=ACKS_ALL, now_ms=1, transaction_version=2)
        batch = transactional(0)
        header = validate_client_batch(batch, partition.log.config)
        waiting = partition.append(batch, acks=ACKS_ALL, now_ms=1, header=header, verification=guard)
        await disk.wake_up()
        with pytest.raises(ApiError) as refused:
            await outcome_of(waiting)
        assert code_of(refused) == ErrorCode.INVALID_TXN_STATE
        assert partition.log.log_end_offset == 1, "the marker came first"

    run_on_slow_disk(scenario)


def test_what_a_thread_appended_is_committed_as_it_is_settled(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, ALONE, disk.queue)
        readable: list[tuple[int, int]] = []
        partition.watch(lambda size_bytes: readable.append((size_bytes, partition.log.high_watermark)))
        enqueue(partition)
        enqueue(partition, ACKS_ALL)
        disk.work_off()
        assert (partition.log.log_end_offset, partition.log.high_watermark) == (2, 0)
        await disk.settle()
        assert readable == [(len(batch_of_one()), 1), (len(batch_of_one()), 2)]

    run_on_slow_disk(scenario)


def test_an_epoch_begins_behind_what_was_appended_in_the_one_before(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, ALONE, disk.queue)
        enqueue(partition)
        disk.work_off()
        partition.apply(replace(ALONE, leader_epoch=3, partition_epoch=1))
        enqueue(partition)
        await disk.settle()
        assert partition.log.end_offset_for_epoch(0) == (0, 1)
        assert partition.log.end_offset_for_epoch(3) == (3, 2)

    run_on_slow_disk(scenario)


@pytest.mark.parametrize("is_full", [False, True])
def test_what_waits_for_the_disk_when_its_epoch_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_full: bool
) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, ALONE, disk.queue)
        await disk.settle()
        disk.hang()
        waiting = [enqueue(partition), partition.append(batch_of_one(), acks=1, now_ms=1)]
        partition.apply(replace(ALONE, leader_epoch=3, partition_epoch=1))
        own = partition.append(batch_of_one(), acks=1, now_ms=1)
        await disk.wake_up()
        for one in waiting:
            with pytest.raises(ApiError, match="Leader epoch 0 of orders-0 ended") as refused:
                await outcome_of(one)
            assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (await outcome_of(own)).first_offset == 0
        assert partition.log.leader_epochs.entries == [(3, 0)]

    if is_full:
        hold_back_clients(monkeypatch)
    run_on_slow_disk(scenario)


def test_what_is_refused_is_not_put_into_the_queue(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, replace(TRIO, in_sync=(1,)), disk.queue, min_insync_replicas=2)
        with pytest.raises(ApiError) as refused:
            enqueue(partition, ACKS_ALL)
        assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS
        with pytest.raises(ApiError):
            partition.append(batch_of_one(), acks=ACKS_ALL, now_ms=1)
        partition.close()
        with pytest.raises(ApiError) as refused:
            enqueue(partition)
        assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await disk.settle()
        assert partition.log.log_end_offset == 0

    run_on_slow_disk(scenario)


# -- committed in its own epoch


def test_a_record_that_was_cut_off_is_not_committed_by_another_one_at_its_offset(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    lost = append(partition, ACKS_ALL)
    to_follower(partition)
    to_leader(partition, in_sync=(1,))
    other = append(partition, ACKS_ALL)
    assert other.last_offset == lost.last_offset
    assert partition.is_committed(other.leader_epoch, other.last_offset)
    with pytest.raises(ApiError) as refused:
        partition.is_committed(lost.leader_epoch, lost.last_offset)
    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_queued_append_of_an_epoch_that_is_over_moves_no_watermark(tmp_path: Path) -> None:
    async def scenario(disk: SlowDisk) -> None:
        partition = make(tmp_path, TRIO, disk.queue)
        await disk.settle()
        enqueue(partition)
        disk.work_off()
        to_follower(partition)
        await disk.settle()
        assert partition.log.high_watermark == 0

    run_on_slow_disk(scenario)


def test_what_was_committed_before_a_partition_was_suspended_stays_known_and_the_rest_does_not(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    committed = append(partition)
    for replica in (2, 3):
        fetch(partition, replica, 1)
    pending = append(partition)
    partition.suspend()
    assert partition.is_committed(committed.leader_epoch, committed.last_offset)
    with pytest.raises(ApiError) as refused:
        partition.is_committed(pending.leader_epoch, pending.last_offset)
    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.resume()
    assert not partition.is_committed(pending.leader_epoch, pending.last_offset)


def test_a_topic_is_not_asked_for_more_replicas_than_it_has(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, min_insync_replicas=2)
    info = append(partition, ACKS_ALL)
    assert partition.is_committed(info.leader_epoch, info.last_offset)
    partition.check_in_sync_after_append()


def test_an_in_sync_set_that_shrank_below_its_minimum_is_told_after_the_append(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO, min_insync_replicas=2)
    info = append(partition, ACKS_ALL)
    for replica in (2, 3):
        fetch(partition, replica, 1)
    partition.check_in_sync_after_append()
    partition.apply(replace(TRIO, in_sync=(1,), partition_epoch=1))
    assert partition.is_committed(info.leader_epoch, info.last_offset)
    with pytest.raises(ApiError, match="has 1 in-sync replicas and needs 2") as refused:
        partition.check_in_sync_after_append()
    assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_smaller_minimum_releases_the_watermark(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, in_sync=(1,)), min_insync_replicas=2)
    append(partition)
    assert partition.log.high_watermark == 0
    partition.update_config(replace(partition.log.config, min_insync_replicas=1))
    assert partition.log.high_watermark == 1


def test_a_new_leader_tells_its_watermark_once_it_has_reached_the_start_of_its_epoch(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, in_sync=(1,)))
    append(partition)
    to_leader(partition)
    append(partition)
    assert partition.has_reached_epoch_start, "the watermark was there already"
    unknown = make(tmp_path / "other", TRIO)
    append(unknown)
    to_leader(unknown)
    assert not unknown.has_reached_epoch_start
    for replica in (2, 3):
        fetch(unknown, replica, 1)
    assert unknown.has_reached_epoch_start


def test_records_are_deleted_at_once_or_in_turn(tmp_path: Path) -> None:
    partition = make(tmp_path / "plain", ALONE)
    append(partition)
    assert partition.delete_records(1) == 1

    async def scenario(disk: SlowDisk) -> None:
        queued = make(tmp_path / "queued", ALONE, disk.queue)
        enqueue(queued)
        await disk.settle()
        disk.hang()
        queued.delete_records(1)
        assert queued.log.log_start_offset == 0
        await disk.wake_up()
        assert queued.log.log_start_offset == 1

    run_on_slow_disk(scenario)
