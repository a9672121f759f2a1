import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.storage.errors import DirectoryInUse, DiskFull, StorageError
from ottla.storage.file_system import OsFileSystem, append_whole


@pytest.fixture
def file_system(tmp_path: Path) -> OsFileSystem:
    return OsFileSystem(tmp_path)


def test_parts_are_written_one_after_the_other(file_system: OsFileSystem, tmp_path: Path) -> None:
    file = file_system.open(tmp_path / "f", create=True)
    assert file.append((b"ab", bytearray(b"cd"), memoryview(b"ef"))) == 6
    assert file.append((b"gh",)) == 2
    assert bytes(file.read(1, 100)) == b"bcdefgh"
    assert bytes(file.read_warm(2, 3) or b"") == b"cde"
    file.truncate(3)
    file.append((b"x",))
    assert bytes(file.read(0, 10)) == b"abcx"
    assert file.size() == 4


def test_a_warm_read_past_the_end_is_none(file_system: OsFileSystem, tmp_path: Path) -> None:
    file = file_system.open(tmp_path / "f", create=True)
    file.append((b"ab",))
    assert file.read_warm(0, 3) is None


def test_without_nowait_only_the_tail_counts_as_warm(file_system: OsFileSystem, tmp_path: Path) -> None:
    file_system.reads_without_waiting = False
    file = file_system.open(tmp_path / "f", create=True)
    os.truncate(tmp_path / "f", 20 * 1024 * 1024)
    assert file.read_warm(0, 10) is None
    assert file.read_warm(19 * 1024 * 1024, 10) == bytes(10)


def test_errors_name_the_directory_and_the_file(file_system: OsFileSystem, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="absent") as failure:
        file_system.open(tmp_path / "absent")
    assert failure.value.log_dir == tmp_path


@pytest.mark.parametrize(
    "operation",
    [
        lambda fs, path: fs.list_directory(path / "no"),
        lambda fs, path: fs.rename(path / "no", path / "x"),
        lambda fs, path: fs.write_file(path / "no" / "x", b"", sync=True),
        lambda fs, path: fs.sync_directory(path / "no"),
        lambda fs, path: fs.modified_ms(path / "no"),
        lambda fs, path: fs.read_file(path),
        lambda fs, path: fs.remove(path),
    ],
)
def test_every_operation_turns_system_errors_into_storage_errors(file_system, tmp_path: Path, operation) -> None:
    with pytest.raises(StorageError):
        operation(file_system, tmp_path)


def test_a_closed_file_gives_storage_errors(file_system: OsFileSystem, tmp_path: Path) -> None:
    file = file_system.open(tmp_path / "f", create=True)
    file.close()
    file.close()
    for operation in (
        lambda: file.append((b"x",)),
        lambda: file.read(0, 1),
        lambda: file.read_warm(0, 1),
        lambda: file.truncate(0),
        file.size,
    ):
        with pytest.raises(StorageError):
            operation()


def test_absent_files_are_not_errors_where_that_is_normal(file_system: OsFileSystem, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert file_system.read_file(absent) is None
    assert file_system.file_size(absent) is None
    assert not file_system.is_directory(absent)
    file_system.remove(absent)
    file_system.remove_tree(absent)


def test_a_descriptor_is_released_with_the_last_reference(file_system: OsFileSystem, tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    file = file_system.open(tmp_path / "f", create=True)
    assert len(list(Path("/dev/fd").iterdir())) == before + 1
    del file
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_lock_is_held_by_one_in_the_process(file_system: OsFileSystem, tmp_path: Path) -> None:
    lock = file_system.lock(tmp_path / ".lock")
    with pytest.raises(DirectoryInUse, match=str(tmp_path)):
        file_system.lock(tmp_path / ".lock")
    lock.release()
    file_system.lock(tmp_path / ".lock").release()


def test_a_lock_is_held_against_other_processes(file_system: OsFileSystem, tmp_path: Path) -> None:
    lock = file_system.lock(tmp_path / ".lock")
    attempt = "import fcntl,sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", attempt, str(tmp_path / ".lock")]
    assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode != 0
    lock.release()
    assert subprocess.run(command, check=False).returncode == 0


def test_a_part_that_the_disk_did_not_take_is_cut_off_again(disk, tmp_path: Path) -> None:
    append_whole_target = tmp_path / "f"
    append_whole_target.write_bytes(b"old")
    disk.free_bytes = 2
    with pytest.raises(StorageError, match="part"):
        append_whole(disk, append_whole_target, b"new")
    assert append_whole_target.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_disk_without_space_is_told_apart_from_one_that_fails(file_system: OsFileSystem) -> None:
    with pytest.raises(DiskFull, match="No space left on device"):
        file_system.write_file(Path("/dev/full"), b"data", sync=False)
    with pytest.raises(DiskFull):
        file_system.open(Path("/dev/full")).append((b"data",))


def test_a_sync_without_space_is_a_failure(file_system: OsFileSystem, tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    assert not isinstance(file_system.failure("sync", tmp_path, error), DiskFull)
    assert isinstance(file_system.failure("write", tmp_path, error), DiskFull)


def allocated_bytes(path: Path) -> int:
    return path.stat().st_blocks * 512


@pytest.mark.skipif(sys.platform != "linux", reason="space can be set aside on Linux only")
def test_reserved_space_changes_neither_size_nor_contents(tmp_path: Path) -> None:
    file = OsFileSystem(tmp_path).open(tmp_path / "f", create=True)
    file.append((b"one",))
    file.reserve(1 << 20)
    file.append((b"two",))
    assert (file.size(), bytes(file.read(0, 10))) == (6, b"onetwo")
    assert allocated_bytes(file.path) >= 1 << 20
    file.truncate(6)
    assert allocated_bytes(file.path) < 1 << 20


def test_space_that_is_not_there_is_not_reserved(tmp_path: Path) -> None:
    file = OsFileSystem(tmp_path).open(tmp_path / "f", create=True)
    file.reserve(1 << 60)
    assert allocated_bytes(file.path) == 0
