"""The disk has no space at any one moment: what is to be persisted is, once and in order."""

import asyncio
import random
from pathlib import Path

import pytest

from ottla.broker.quorum import persister as persister_module
from ottla.broker.quorum.disk_log_store import DiskLogStore
from ottla.broker.quorum.persister import Persister
from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.protocol.record_batch import iterate_headers
from ottla.raft import Batch, Membership, Ready, ValuesContent, VoterSet
from ottla.raft.ready import ElectionState
from ottla.storage.errors import DiskFull
from ottla.testing.sim.disk import SimulatedDisk, Survival

ROOT = Path("/disk")
DIRECTORY = ROOT / "__cluster_metadata-0"
GROWING = ("append to", "create", "write", "make")
BATCHES = 8


class RefuseOne:
    """Refuses the nth change that needs space."""

    def __init__(self, number: int | None) -> None:
        self.seen = 0
        self._number = number

    def __call__(self, operation: str, path: Path) -> None:
        if operation in GROWING:
            self.seen += 1
            if self.seen == self._number:
                raise DiskFull(ROOT, operation, path, "refused")


def persist(number: int | None) -> tuple[DiskLogStore, RefuseOne, list[DiskFull | None]]:
    """Several batches that need more than one segment, in one Ready."""
    disk = SimulatedDisk(ROOT)
    log = DiskLogStore(
        disk, DIRECTORY, start_offset=0, segment_bytes=200, segment_ms=1 << 40, wall_clock_ms=lambda: 2_000
    )
    told: list[DiskFull | None] = []
    persister = Persister(
        log=log,
        state_file=QuorumStateFile(disk, DIRECTORY),
        snapshots=SnapshotFiles(disk, DIRECTORY),
        membership=lambda: Membership(VoterSet(()), 1),
        wall_clock_ms=lambda: 2_000,
        on_full=told.append,
    )
    disk.before_change = refusal = RefuseOne(number)
    batches = [Batch(2 * n, 2, 1, ValuesContent((b"value", b"value"))) for n in range(BATCHES)]
    asyncio.run(persister.persist([Ready(election=ElectionState(epoch=1), append=batches)]))
    return log, refusal, told


def base_offsets(log: DiskLogStore) -> list[int]:
    found: list[int] = []
    while not found or 2 + found[-1] < log.end_offset:
        data = log.read(2 + found[-1] if found else 0, log.end_offset, 10_000)
        found += [header.base_offset for _, header in iterate_headers(data)]
    return found


def test_a_step_without_space_is_taken_again_from_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persister_module, "_SPACE_RETRY_S", 0)
    _, counting, _ = persist(None)
    assert counting.seen > BATCHES
    for number in range(1, counting.seen + 1):
        log, refusal, told = persist(number)
        assert refusal.seen >= number
        assert told[-1] is None, f"point {number}"
        assert base_offsets(log) == list(range(0, 2 * BATCHES, 2)), f"point {number}"


@pytest.mark.parametrize(("syncs_log", "count"), [(True, 2), (False, 0)], ids=["a voter", "an observer"])
def test_only_what_others_count_on_is_synced(*, syncs_log: bool, count: int) -> None:
    disk = SimulatedDisk(ROOT)
    disk.make_directory(DIRECTORY)
    disk.sync_directory(ROOT)
    log = DiskLogStore(
        disk, DIRECTORY, start_offset=0, segment_bytes=1 << 20, segment_ms=1 << 40, wall_clock_ms=lambda: 2_000
    )
    persister = Persister(
        log=log,
        state_file=QuorumStateFile(disk, DIRECTORY),
        snapshots=SnapshotFiles(disk, DIRECTORY),
        membership=lambda: Membership(VoterSet(()), 1),
        wall_clock_ms=lambda: 2_000,
        on_full=lambda full: None,
        syncs_log=syncs_log,
    )
    asyncio.run(persister.persist([Ready(append=[Batch(0, 2, 1, ValuesContent((b"value", b"value")))])]))
    disk = disk.after_power_cut(Survival.NOTHING, random.Random(1))
    after = DiskLogStore(
        disk, DIRECTORY, start_offset=0, segment_bytes=1 << 20, segment_ms=1 << 40, wall_clock_ms=lambda: 2_000
    )
    assert after.end_offset == count
