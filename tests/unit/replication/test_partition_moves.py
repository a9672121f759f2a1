"""A partition whose log moves to another directory: out of service for a moment, and the same leader all the while."""

import shutil
from dataclasses import replace
from pathlib import Path

from ottla.protocol.errors import ErrorCode
from ottla.replication.leader_state import InSyncDecision, InSyncProposal
from ottla.replication.partition import ACKS_ALL, Partition
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from unit.replication.partitions import ALONE, TRIO, append, broker_of, fetch, make


def shrink(partition: Partition) -> InSyncProposal:
    """Nobody has fetched for too long; what the leader asks for then."""
    broker = broker_of(partition)
    append(partition)
    for _ in range(3):
        broker.now_ms += 600
        partition.tick()
    (proposal,) = broker.proposals
    return proposal


def test_a_change_that_is_refused_during_the_move_is_asked_for_anew(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    proposal = shrink(partition)
    partition.suspend()
    assert partition.is_pending(proposal)
    assert partition.in_sync_answered(proposal, ErrorCode.INELIGIBLE_REPLICA) is None
    partition.resume()
    partition.tick()
    assert len(broker_of(partition).proposals) == 2


def test_a_change_that_is_not_answered_during_the_move_stays_asked_for(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    proposal = shrink(partition)
    partition.suspend()
    assert partition.in_sync_answered(proposal, ErrorCode.NOT_CONTROLLER) is proposal
    assert partition.is_pending(proposal)


def test_nothing_is_asked_for_a_partition_that_is_closed_for_good(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    proposal = shrink(partition)
    partition.close()
    assert not partition.is_pending(proposal)
    assert partition.in_sync_answered(proposal, ErrorCode.NOT_CONTROLLER) is None


def test_nothing_is_asked_for_an_epoch_that_is_over(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    proposal = shrink(partition)
    partition.apply(replace(TRIO, leader_id=2, leader_epoch=1, partition_epoch=1))
    assert not partition.is_pending(proposal)
    partition.apply(replace(TRIO, leader_epoch=2, partition_epoch=2))
    assert not partition.is_pending(proposal)


def move(partition: Partition, target: Path) -> None:
    """The log of a suspended partition is in another directory now, and the partition back in service."""
    old = partition.log
    old.flush(1)
    target.mkdir()
    copy = shutil.copytree(old.directory, target / old.directory.name)
    log = Log(OsFileSystem(target), copy, old.config, now_ms=1)
    log.assign_leader_epoch(partition.leader_epoch)
    log.update_high_watermark(old.high_watermark)
    log.flush(1)
    old.abandon()
    partition.move_to(log, None)
    partition.resume()


def expansion(partition: Partition) -> InSyncProposal:
    """Broker 3 has caught up; what the leader asks for then."""
    append(partition)
    fetch(partition, 2, 1)
    fetch(partition, 3, 1)
    (proposal,) = broker_of(partition).proposals
    return proposal


def test_who_joins_the_in_sync_set_during_the_move_is_waited_for(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, in_sync=(1, 2)), min_insync_replicas=2)
    proposal = expansion(partition)
    partition.suspend()
    assert partition.in_sync_answered(proposal, InSyncDecision(0, 1, (1, 2, 3))) is None
    move(partition, tmp_path / "other")
    assert partition.in_sync_ids == (1, 2, 3)
    info = append(partition, ACKS_ALL)
    fetch(partition, 2, 2)
    assert not partition.is_committed(info.leader_epoch, info.last_offset)
    fetch(partition, 3, 2)
    assert partition.is_committed(info.leader_epoch, info.last_offset)
    assert partition.log.high_watermark == 2


def test_who_may_join_the_in_sync_set_after_the_move_is_waited_for(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, in_sync=(1, 2)), min_insync_replicas=2)
    proposal = expansion(partition)
    partition.suspend()
    move(partition, tmp_path / "other")
    info = append(partition, ACKS_ALL)
    fetch(partition, 2, 2)
    assert not partition.is_committed(info.leader_epoch, info.last_offset)
    assert partition.in_sync_answered(proposal, InSyncDecision(0, 1, (1, 2, 3))) is None
    fetch(partition, 3, 2)
    assert partition.is_committed(info.leader_epoch, info.last_offset)


def test_a_watermark_that_is_released_during_the_move_is_that_of_the_moved_log(tmp_path: Path) -> None:
    partition = make(tmp_path, TRIO)
    proposal = shrink(partition)
    partition.suspend()
    partition.in_sync_answered(proposal, InSyncDecision(0, 1, (1,)))
    assert partition.log.high_watermark == 0, "it may be on the move"
    move(partition, tmp_path / "other")
    assert partition.log.high_watermark == 1


def test_what_waits_for_a_sync_of_the_log_counts_in_its_synced_copy(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE, flush_messages=1)
    info = append(partition)
    partition.suspend()
    move(partition, tmp_path / "other")
    assert partition.is_acknowledged(1, info)
    later = append(partition)
    assert not partition.is_acknowledged(1, later)
    assert broker_of(partition).syncing == [partition, partition], "that of the old log serves nobody here"


def test_a_follower_goes_on_with_the_moved_log(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    append(partition)
    partition.apply(replace(TRIO, leader_id=2, leader_epoch=1, partition_epoch=1))
    partition.suspend()
    move(partition, tmp_path / "other")
    following = partition.following
    assert following is not None
    assert following._log is partition.log
    assert following.position is not None
    assert following.position.fetch_offset == 1
