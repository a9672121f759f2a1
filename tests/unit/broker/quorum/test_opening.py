import random
from pathlib import Path

import pytest

from ottla.broker.quorum.disk_log_store import DiskLogStore
from ottla.broker.quorum.opening import MetadataFiles, open_quorum
from ottla.broker.quorum.transport import UnusableQuorum
from ottla.metadata.image import ClusterImage
from ottla.metadata.log_batches import encode_log_batch
from ottla.metadata.snapshot import encode_snapshot
from ottla.raft import Batch, OffsetAndEpoch, ReplicaKey, ValuesContent, Voter, VoterSet
from ottla.raft.ready import ElectionState
from ottla.testing.sim.disk import SimulatedDisk, Survival

ROOT = Path("/disk")
DIRECTORY = ROOT / "__cluster_metadata-0"
LOCAL = ReplicaKey(1, b"directory id one")
VOTERS = VoterSet((Voter(ReplicaKey(1)), Voter(ReplicaKey(2))))


def files_on(disk: SimulatedDisk) -> MetadataFiles:
    return MetadataFiles(
        DIRECTORY,
        disk,
        open_log=lambda start_offset: DiskLogStore(
            disk,
            DIRECTORY,
            start_offset=start_offset,
            segment_bytes=1 << 20,
            segment_ms=3_600_000,
            wall_clock_ms=lambda: 0,
        ),
    )


def test_a_vote_outlives_a_power_cut_although_formatting_made_no_directory_for_it() -> None:
    disk = SimulatedDisk(ROOT)
    voted = ElectionState(7, None, ReplicaKey(2))
    opened = open_quorum(files_on(disk), LOCAL, VOTERS)
    opened.state_file.write(voted, kraft_version=0, voters=VOTERS)
    disk = disk.after_power_cut(Survival.NOTHING, random.Random(1))
    assert open_quorum(files_on(disk), LOCAL, VOTERS).election == voted


def test_a_node_that_can_ask_for_the_leader_need_not_know_the_voters() -> None:
    with pytest.raises(UnusableQuorum, match="names no voters"):
        open_quorum(files_on(SimulatedDisk(ROOT)), LOCAL, None)
    opened = open_quorum(files_on(SimulatedDisk(ROOT)), LOCAL, None, can_ask=True)
    assert opened.history.newest.voters == VoterSet(())


def test_a_node_without_a_log_is_catching_up_until_it_is_told_otherwise_whatever_it_has_fetched() -> None:
    disk = SimulatedDisk(ROOT)
    opened = open_quorum(files_on(disk), LOCAL, None, can_ask=True)
    assert not opened.is_log_whole
    opened.log.append([encode_log_batch(Batch(0, 1, 1, ValuesContent((b"value",))), 0)])
    opened.log.close()
    disk = disk.after_power_cut(Survival.NOTHING, random.Random(1))
    assert not open_quorum(files_on(disk), LOCAL, None, can_ask=True).is_log_whole
    files_on(disk).log_is_whole()
    disk = disk.after_power_cut(Survival.NOTHING, random.Random(1))
    assert open_quorum(files_on(disk), LOCAL, None, can_ask=True).is_log_whole


def test_the_first_start_of_a_quorum_whose_voters_the_settings_name_has_nothing_to_catch_up_with() -> None:
    assert open_quorum(files_on(SimulatedDisk(ROOT)), LOCAL, VOTERS).is_log_whole


@pytest.mark.parametrize("survivors", [0, 1, 5], ids=lambda count: f"{count} batches left")
def test_a_log_that_a_power_cut_took_behind_its_snapshot_goes_on_in_the_epoch_of_the_snapshot(survivors: int) -> None:
    """An observer does not sync its log, but its snapshots."""
    disk = SimulatedDisk(ROOT)
    opened = open_quorum(files_on(disk), LOCAL, VOTERS)
    for number in range(survivors):
        batch = Batch(number, 1, 1, ValuesContent((b"value",)))
        opened.log.append([encode_log_batch(batch, 0)])
    opened.log.close()
    snapshot = OffsetAndEpoch(180, 8)
    records = encode_snapshot(
        ClusterImage().to_records(),
        epoch=8,
        now_ms=0,
        last_contained_log_timestamp_ms=0,
        voters=VOTERS,
        kraft_version=0,
    )
    opened.snapshots.write(snapshot, records)
    view = open_quorum(files_on(disk), LOCAL, VOTERS).log_view
    assert (view.start_offset, view.end) == (180, snapshot)


def test_what_a_killed_process_had_written_is_durable_before_another_life_counts_on_it() -> None:
    """A kill leaves it in the kernel's memory, and the first fetch of the next life says that it has it."""
    disk = SimulatedDisk(ROOT)
    opened = open_quorum(files_on(disk), LOCAL, VOTERS)
    opened.log.append([encode_log_batch(Batch(0, 1, 1, ValuesContent((b"value",))), 0)])
    disk = disk.clone()
    assert open_quorum(files_on(disk), LOCAL, VOTERS).log_view.end_offset == 1
    disk = disk.after_power_cut(Survival.NOTHING, random.Random(1))
    assert open_quorum(files_on(disk), LOCAL, VOTERS).log_view.end_offset == 1
