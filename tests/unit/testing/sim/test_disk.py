"""The simulated disk, as the storage package and a simulator use it."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.storage.errors import DirectoryInUse, DiskFull, StorageError
from ottla.testing.sim.disk import WRITTEN_MS, DiskOperation, PowerCut, SimulatedDisk, Survival

ROOT = Path("/disk")
FILE = ROOT / "t-0" / "log"


def disk_with(data: bytes, **settings: object) -> SimulatedDisk:
    """A disk with one file that is durable."""
    disk = SimulatedDisk(ROOT, **settings)  # type: ignore[arg-type]
    disk.make_directory(FILE.parent)
    disk.write_file(FILE, data, sync=True)
    disk.sync_directory(FILE.parent)
    disk.sync_directory(ROOT)
    return disk


def after_nothing(disk: SimulatedDisk) -> dict[Path, bytes]:
    return disk.after_power_cut(Survival.NOTHING, random.Random(0)).files()


def test_reads_see_what_is_written_and_a_power_cut_only_what_is_synced() -> None:
    disk = disk_with(b"one")
    file = disk.open(FILE)
    assert file.append((b"two", memoryview(b"three"))) == 8
    assert bytes(file.read(1, 4)) == b"netw"
    assert disk.file_size(FILE) == file.size() == 11
    assert after_nothing(disk) == {Path("t-0/log"): b"one"}
    file.sync()
    assert after_nothing(disk) == {Path("t-0/log"): b"onetwothree"}


def test_a_file_without_a_durable_name_is_gone_after_a_power_cut() -> None:
    disk = disk_with(b"one")
    disk.write_file(FILE.with_name("new"), b"synced", sync=True)
    assert after_nothing(disk) == {Path("t-0/log"): b"one"}
    disk.sync_directory(FILE.parent)
    assert after_nothing(disk) == {Path("t-0/log"): b"one", Path("t-0/new"): b"synced"}


def test_a_directory_can_be_renamed_with_all_that_is_in_it() -> None:
    disk = disk_with(b"one")
    file = disk.open(FILE)
    disk.rename(FILE.parent, ROOT / "t-1")
    file.append((b"two",))
    assert disk.read_file(ROOT / "t-1" / "log") == b"onetwo"
    assert disk.list_directory(ROOT) == ["t-1"]
    assert after_nothing(disk) == {Path("t-0/log"): b"one"}


def test_a_disk_knows_which_files_are_not_durable_as_they_are() -> None:
    disk = disk_with(b"one")
    assert list(disk.unsynced_files()) == []
    file = disk.open(FILE)
    file.append((b"two",))
    assert list(disk.unsynced_files()) == [Path("t-0/log")]
    file.sync()
    assert list(disk.unsynced_files()) == []


def test_a_path_outside_of_the_disk_is_refused() -> None:
    with pytest.raises(ValueError, match="/elsewhere"):
        SimulatedDisk(ROOT).make_directory(Path("/elsewhere/t-0"))


def test_every_change_is_told_after_it_was_made() -> None:
    told: list[tuple[str, dict[Path, bytes]]] = []
    disk = SimulatedDisk(ROOT, lambda verb, path: told.append((verb, disk.files())))
    disk.write_file(ROOT / "a", b"x", sync=True)
    disk.remove(ROOT / "a")
    assert told == [
        ("create", {Path("a"): b""}),
        ("write", {Path("a"): b"x"}),
        ("sync", {Path("a"): b"x"}),
        ("remove", {}),
    ]


def test_a_refused_change_is_not_made() -> None:
    disk = disk_with(b"one")

    def refuse(verb: str, path: Path) -> None:
        raise DiskFull(ROOT, verb, path, "refused")

    disk.before_change = refuse
    with pytest.raises(DiskFull):
        disk.open(FILE).append((b"two",))
    assert disk.read_file(FILE) == b"one"


# Capacity.


def test_a_disk_takes_the_part_for_which_there_is_room_and_is_full_then() -> None:
    disk = disk_with(b"one", capacity_bytes=5)
    file = disk.open(FILE)
    assert file.append((b"two",)) == 2
    with pytest.raises(DiskFull):
        file.append((b"w",))
    assert disk.used_bytes == 5
    file.truncate(3)
    assert file.append((b"2",)) == 1


def test_a_file_that_does_not_fit_is_written_in_part_and_refused() -> None:
    disk = disk_with(b"one", capacity_bytes=5)
    with pytest.raises(DiskFull):
        disk.write_file(ROOT / "a", b"abc", sync=True)
    assert disk.read_file(ROOT / "a") == b"ab"


def test_what_loses_its_name_makes_room() -> None:
    disk = disk_with(b"one", capacity_bytes=6)
    disk.write_file(ROOT / "a", b"abc", sync=False)
    open_file = disk.open(ROOT / "a")
    disk.remove(ROOT / "a")
    assert disk.used_bytes == 3
    disk.write_file(ROOT / "b", b"b", sync=False)
    disk.write_file(ROOT / "c", b"cc", sync=False)
    disk.rename(ROOT / "b", ROOT / "c")
    open_file.truncate(0)
    assert disk.used_bytes == 4
    disk.remove_tree(FILE.parent)
    assert disk.used_bytes == 1


def test_the_capacity_can_change_and_lasts_over_lives() -> None:
    disk = disk_with(b"one", capacity_bytes=3)
    disk.capacity_bytes = 4
    disk.power_off()
    for found in (disk.clone(), disk.after_power_cut(Survival.EVERYTHING, random.Random(0))):
        assert found.used_bytes == 3
        assert found.open(FILE).append((b"two",)) == 1


# Faults.


def test_reads_writes_and_syncs_fail_as_told() -> None:
    disk = disk_with(b"one")
    file = disk.open(FILE)
    disk.faults.fail(DiskOperation.READ, times=2)
    for read in (lambda: file.read(0, 1), lambda: disk.read_file(FILE)):
        with pytest.raises(StorageError, match="Input/output error"):
            read()
    assert bytes(file.read(0, 3)) == b"one"
    disk.faults.fail(DiskOperation.WRITE, times=2)
    for write in (lambda: file.append((b"x",)), lambda: disk.remove(FILE)):
        with pytest.raises(StorageError):
            write()
    assert disk.read_file(FILE) == b"one"
    disk.faults.fail(DiskOperation.SYNC)
    for sync in (file.sync, lambda: disk.sync_directory(ROOT)):
        with pytest.raises(StorageError):
            sync()
    disk.faults.heal()
    disk.sync_directory(ROOT)


def test_a_sync_that_failed_and_is_tried_again_has_still_lost_its_pages() -> None:
    disk = disk_with(b"one")
    file = disk.open(FILE)
    file.append((b"two",))
    disk.faults.fail(DiskOperation.SYNC, times=1)
    with pytest.raises(StorageError):
        file.sync()
    file.sync()
    assert disk.read_file(FILE) == b"onetwo"
    assert after_nothing(disk) == {Path("t-0/log"): b"one"}


# Lives.

CALLS: list[Callable[[SimulatedDisk], object]] = [
    lambda disk: disk.open(FILE),
    lambda disk: disk.read_file(FILE),
    lambda disk: disk.write_file(FILE, b"", sync=False),
    lambda disk: disk.file_size(FILE),
    lambda disk: disk.modified_ms(FILE),
    lambda disk: disk.set_modified_ms(FILE, 1),
    lambda disk: disk.list_directory(ROOT),
    lambda disk: disk.is_directory(ROOT),
    lambda disk: disk.make_directory(ROOT),
    lambda disk: disk.rename(FILE, FILE),
    lambda disk: disk.remove(ROOT / "missing"),
    lambda disk: disk.remove_tree(ROOT / "missing"),
    lambda disk: disk.sync_directory(ROOT),
    lambda disk: disk.lock(ROOT / ".lock"),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_disk_that_is_off_refuses_every_call(call: Callable[[SimulatedDisk], object]) -> None:
    disk = disk_with(b"one")
    disk.power_off()
    with pytest.raises(PowerCut):
        call(disk)


def test_files_of_a_disk_that_is_off_refuse_every_call_but_close() -> None:
    disk = disk_with(b"one")
    file = disk.open(FILE)
    disk.power_off()
    next_life = disk.clone()
    calls: list[Callable[[], object]] = [
        lambda: file.append((b"x",)),
        lambda: file.read(0, 1),
        lambda: file.read_warm(0, 1),
        lambda: file.reserve(1),
        lambda: file.truncate(0),
        file.sync,
        file.size,
    ]
    for call in calls:
        with pytest.raises(PowerCut):
            call()
    file.close()
    assert next_life.read_file(FILE) == b"one"


def test_a_lock_ends_with_the_life_of_the_disk() -> None:
    disk = disk_with(b"one")
    lock = disk.lock(ROOT / ".lock")
    with pytest.raises(DirectoryInUse):
        disk.lock(ROOT / ".lock")
    disk.power_off()
    next_life = disk.clone()
    next_life.lock(ROOT / ".lock")
    lock.release()
    with pytest.raises(DirectoryInUse):
        next_life.lock(ROOT / ".lock")


def test_a_lock_that_is_released_can_be_taken_again() -> None:
    disk = disk_with(b"one")
    disk.lock(ROOT / ".lock").release()
    disk.lock(ROOT / ".lock")


def test_a_change_that_is_told_of_a_power_cut_was_made() -> None:
    def cut(verb: str, path: Path) -> None:
        raise PowerCut(f"{verb} {path}")

    disk = disk_with(b"one")
    disk.on_change = cut
    with pytest.raises(PowerCut):
        disk.open(FILE).append((b"two",))
    assert disk.clone().read_file(FILE) == b"onetwo"


# Time.


def test_a_file_is_as_old_as_its_last_change_or_as_someone_said() -> None:
    assert disk_with(b"one").modified_ms(FILE) == WRITTEN_MS
    now_ms = 1_000
    disk = disk_with(b"one", clock_ms=lambda: now_ms)
    now_ms = 2_000
    disk.open(FILE).sync()
    assert disk.modified_ms(FILE) == 1_000
    disk.open(FILE).append((b"two",))
    assert disk.modified_ms(FILE) == 2_000
    disk.set_modified_ms(FILE, 1_500)
    assert disk.clone().modified_ms(FILE) == 1_500
    with pytest.raises(StorageError):
        disk.modified_ms(ROOT / "missing")


def test_a_file_that_was_only_cut_is_not_at_risk() -> None:
    disk = SimulatedDisk(ROOT)
    disk.write_file(ROOT / "file", b"durable", sync=True)
    file = disk.open(ROOT / "file")
    file.truncate(3)
    assert list(disk.unsynced_files()) == [Path("file")]
    assert disk.files_at_risk(ROOT) == []
    file.append([b"more"])
    assert disk.files_at_risk(ROOT) == ["file"]
    file.sync()
    assert disk.files_at_risk(ROOT) == []
