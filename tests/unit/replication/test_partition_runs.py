"""Batches that a leader appends together, where no disk is waited for."""

from dataclasses import replace
from pathlib import Path

from ottla.replication.partition import ACKS_ALL
from ottla.storage.append_validation import validate_client_batch
from unit.replication.partitions import ALONE, TRIO, batch_of_one, make


def test_an_append_is_made_at_once_if_no_disk_is_waited_for(tmp_path: Path) -> None:
    alone = make(tmp_path / "alone", ALONE)
    assert [alone.appends_at_once(acks) for acks in (0, 1, ACKS_ALL)] == [True, True, True]
    trio = make(tmp_path / "trio", TRIO, min_insync_replicas=2)
    assert [trio.appends_at_once(acks) for acks in (0, 1, ACKS_ALL)] == [True, True, True]
    assert [alone.has_followers, trio.has_followers] == [False, True]
    few = make(tmp_path / "few", replace(TRIO, in_sync=(TRIO.leader_id,)), min_insync_replicas=2)
    assert [few.appends_at_once(acks) for acks in (0, 1, ACKS_ALL)] == [True, True, False]
    synced = make(tmp_path / "synced", ALONE, flush_messages=100)
    assert [synced.appends_at_once(acks) for acks in (0, 1, ACKS_ALL)] == [False, False, False]
    following = make(tmp_path / "following", replace(TRIO, leader_id=2))
    assert not following.appends_at_once(1)
    assert not following.has_followers
    assert not alone.appends_at_once(2)
    alone.close()
    assert not alone.appends_at_once(1)


def test_a_run_of_batches_is_committed_and_told_as_one(tmp_path: Path) -> None:
    partition = make(tmp_path, ALONE)
    told: list[int] = []
    partition.watch(told.append)
    batch = batch_of_one()
    run = [(memoryview(batch), validate_client_batch(batch, partition.log.config))] * 3
    info = partition.append_run(run, now_ms=1)
    assert info is not None
    assert (info.first_offset, info.last_offset, partition.log.high_watermark) == (0, 2, 3)
    assert all(partition.is_acknowledged(acks, info) for acks in (0, 1, ACKS_ALL))
    assert told == [3 * len(batch)]
