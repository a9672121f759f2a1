from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ottla.storage.checkpoints import OffsetCheckpoint, write_atomically
from ottla.storage.errors import DamagedFile, StorageError
from ottla.storage.file_system import OsFileSystem


def test_offsets_come_back(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(OsFileSystem(tmp_path), tmp_path / "recovery-point-offset-checkpoint")
    assert checkpoint.read() == {}
    offsets = {("topic", 0): 5, ("a-b.c", 12): 2**40}
    checkpoint.write(offsets)
    assert checkpoint.read() == offsets
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == f"0\n2\ntopic 0 5\na-b.c 12 {2**40}\n"


def test_an_empty_file_of_kafka_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"")
    assert OffsetCheckpoint(OsFileSystem(tmp_path), tmp_path / "c").read() == {}


@pytest.mark.parametrize(
    "text", ["1\n0\n", "0\n", "0\n2\nt 0 1\n", "0\n1\nt 0\n", "0\n1\nt x 1\n", "\xff\xfe", "0\n0\nt 0 1\n"]
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "c").write_text(text, encoding="latin-1")
    with pytest.raises(DamagedFile, match=str(tmp_path / "c")):
        OffsetCheckpoint(OsFileSystem(tmp_path), tmp_path / "c").read()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    class FailingRename(OsFileSystem):
        def rename(self, source: Path, target: Path) -> None:
            raise StorageError(self.root, "rename", source, "Input/output error")

    path = tmp_path / "c"
    write_atomically(OsFileSystem(tmp_path), path, b"old")
    with pytest.raises(StorageError):
        write_atomically(FailingRename(tmp_path), path, b"new")
    assert path.read_bytes() == b"old"


def test_two_passes_that_write_one_checkpoint_do_not_take_each_others_file(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(OsFileSystem(tmp_path), tmp_path / "replication-offset-checkpoint")
    offsets = {("topic", number): number for number in range(20)}

    def write_often(_: int) -> None:
        for _ in range(100):
            checkpoint.write(offsets)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write_often, range(2)))
    assert checkpoint.read() == offsets
