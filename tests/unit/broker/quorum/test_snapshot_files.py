"""Snapshots that come piece by piece."""

from pathlib import Path

import pytest

from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.metadata.snapshot import encode_snapshot
from ottla.raft import OffsetAndEpoch
from ottla.storage.errors import DamagedFile, DiskFull
from ottla.testing.sim.disk import SimulatedDisk

ROOT = Path("/disk")
SNAPSHOT = OffsetAndEpoch(40, 3)
DATA = b"".join(map(bytes, encode_snapshot((), epoch=3, now_ms=5, last_contained_log_timestamp_ms=4, kraft_version=0)))


def make() -> tuple[SimulatedDisk, SnapshotFiles]:
    disk = SimulatedDisk(ROOT)
    return disk, SnapshotFiles(disk, ROOT)


def test_pieces_make_a_snapshot_that_appears_when_it_is_whole() -> None:
    _, files = make()
    files.write_part(SNAPSHOT, 0, DATA[:50])
    files.write_part(SNAPSHOT, 50, DATA[50:])
    assert files.list() == []
    assert files.finish_part(SNAPSHOT).last_contained_log_timestamp_ms == 4
    assert files.list() == [SNAPSHOT]
    assert files.finish_part(SNAPSHOT).last_contained_log_timestamp_ms == 4, "a step that is taken again"


def test_a_download_that_begins_anew_leaves_nothing_of_the_one_before() -> None:
    disk, files = make()
    files.write_part(SNAPSHOT, 0, b"x" * 500)
    files.write_part(SNAPSHOT, 0, DATA)
    files.finish_part(SNAPSHOT)
    assert disk.read_file(ROOT / "00000000000000000040-0000000003.checkpoint") == DATA


def test_a_piece_is_written_again_where_there_was_no_space_for_it() -> None:
    disk, files = make()
    files.write_part(SNAPSHOT, 0, DATA[:50])
    refused = iter([DiskFull(ROOT, "write", ROOT, "full")])

    def refuse(operation: str, path: Path) -> None:
        if operation == "append to" and (error := next(refused, None)) is not None:
            raise error

    disk.before_change = refuse
    with pytest.raises(DiskFull):
        files.write_part(SNAPSHOT, 50, DATA[50:])
    files.write_part(SNAPSHOT, 50, DATA[50:])
    files.finish_part(SNAPSHOT)
    assert files.list() == [SNAPSHOT]


def test_a_piece_beyond_the_end_is_refused() -> None:
    _, files = make()
    files.write_part(SNAPSHOT, 0, DATA[:50])
    with pytest.raises(DamagedFile, match="ends at 50, and the next piece of the snapshot begins at 60"):
        files.write_part(SNAPSHOT, 60, DATA[60:])


def test_a_snapshot_that_is_not_whole_never_gets_its_name() -> None:
    _, files = make()
    files.write_part(SNAPSHOT, 0, DATA[:-10])
    with pytest.raises(DamagedFile):
        files.finish_part(SNAPSHOT)
    assert files.list() == []
