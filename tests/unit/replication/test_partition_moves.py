"""A partition whose log moves to another directory: out of service for a moment, and the same leader all the while."""

from dataclasses import replace
from pathlib import Path

from ottla.protocol.errors import ErrorCode
from ottla.replication.leader_state import InSyncProposal
from ottla.replication.partition import Partition
from unit.replication.partitions import TRIO, Broker, append, make


def broker_of(partition: Partition) -> Broker:
    broker = partition._broker
    assert isinstance(broker, Broker)
    return broker


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
