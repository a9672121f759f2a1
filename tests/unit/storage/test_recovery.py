"""What a crash or a careless hand leaves, and what becomes of it."""

import struct
import zlib
from pathlib import Path

import pytest

from ottla.protocol.record_batch import iterate_headers
from ottla.storage.errors import StorageError, UnsupportedSegment
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from ottla.storage.recovery import finish_swaps

NOW_MS = 1_700_000_000_000
SETTINGS = {"segment_bytes": 500, "index_interval_bytes": 100}


def fill(log: Log, make_batch, batches: int, *, has_epochs: bool = False) -> None:
    """Batches of two records of producer 1, each in a leader epoch of its own or all in the latest one."""
    first = log.log_end_offset // 2
    for number in range(first, first + batches):
        batch = make_batch(
            2, timestamp_ms=NOW_MS + number * 10, producer_id=1, producer_epoch=0, base_sequence=2 * number
        )
        leader_epoch = number if has_epochs else max(log.leader_epochs.latest, 0)
        log.append_as_leader(batch, leader_epoch=leader_epoch, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def offsets_in(log: Log) -> list[int]:
    log.update_high_watermark(log.log_end_offset)
    offset = log.log_start_offset
    found: list[int] = []
    while offset < log.log_end_offset:
        read = log.read(
            offset, 1 << 20, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True
        )
        found += [header.base_offset for _, header in iterate_headers(read.records)]
        offset = read.next_offset
    return found


def files(directory: Path, pattern: str) -> list[Path]:
    return sorted(directory.glob(pattern))


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    return tmp_path / "t-0"


def test_a_clean_shutdown_brings_everything_back(open_log, make_batch) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 10, has_epochs=True)
    epochs = log.leader_epochs.entries
    log.close(NOW_MS)
    log = open_log(was_clean=True, **SETTINGS)
    assert (log.log_end_offset, log.recovery_point) == (20, 20)
    assert offsets_in(log) == list(range(0, 20, 2))
    assert log.leader_epochs.entries == epochs
    assert log.producer_states()[0].last_sequence == 19
    fill(log, make_batch, 3)
    assert log.log_end_offset == 26


def test_a_killed_process_loses_nothing_that_the_system_has(open_log, make_batch) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 10, has_epochs=True)
    epochs = log.leader_epochs.entries
    log = open_log(**SETTINGS)
    assert log.recovery_point == 0, "nothing was synced"
    assert offsets_in(log) == list(range(0, 20, 2))
    assert log.leader_epochs.entries == epochs
    assert len(log.producer_states()[0].batches) == 5
    fill(log, make_batch, 1)


@pytest.mark.parametrize("missing_bytes", [1, 30, 61, 100])
def test_a_torn_tail_is_cut(open_log, make_batch, partition: Path, missing_bytes: int) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 8)
    last = log.segments[-1].path
    count = sum(1 for _ in iterate_headers(last.read_bytes()))
    with last.open("r+b") as file:
        file.truncate(last.stat().st_size - missing_bytes)
    log = open_log(**SETTINGS)
    assert log.log_end_offset == 14
    assert offsets_in(log) == list(range(0, 14, 2))
    assert sum(1 for _ in iterate_headers(last.read_bytes())) == count - 1
    assert log.producer_states()[0].last_sequence == 13
    fill(log, make_batch, 1)
    assert log.log_end_offset == 16


def test_every_flipped_byte_above_the_recovery_point_is_noticed(open_log, make_batch) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 3)
    path = log.segments[0].path
    original = path.read_bytes()
    size = len(original) // 3
    for position in range(len(original)):
        if position % size in (*range(4, 8), *range(12, 16)):
            # No checksum covers these: the leader epoch, and the lower half of the offset, where gaps are lawful.
            continue
        damaged = bytearray(original)
        damaged[position] ^= 0x55
        path.write_bytes(damaged)
        log = open_log(**SETTINGS)
        assert log.log_end_offset <= 2 * (position // size), position
        log.abandon()


def test_a_hole_drops_the_segments_after_it(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    second = log.segments[1]
    with second.path.open("r+b") as file:
        file.write(bytes(100))
    end = second.base_offset
    log = open_log(**SETTINGS)
    assert log.log_end_offset == end
    assert offsets_in(log) == list(range(0, end, 2))
    assert len(files(partition, "*.log")) == 2
    fill(log, make_batch, 1)


def test_segments_below_the_recovery_point_are_not_read_again(open_log, make_batch) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.flush(NOW_MS)
    with log.segments[0].path.open("r+b") as file:
        file.seek(80)
        file.write(b"damage that nobody looks for")
    log = open_log(recovery_point=24, **SETTINGS)
    assert log.log_end_offset == 24


def test_damage_below_the_recovery_point_keeps_no_log_from_opening_that_lost_its_snapshots(
    open_log, make_batch, partition: Path
) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.flush(NOW_MS)
    path = log.segments[0].path
    (_, _), (second, _), *_ = iterate_headers(path.read_bytes())
    with path.open("r+b") as file:
        file.seek(second)
        file.write(bytes(61))
    for snapshot in files(partition, "*.snapshot"):
        snapshot.unlink()
    log = open_log(recovery_point=24, **SETTINGS)
    assert log.log_end_offset == 24
    assert log.producer_states()[0].last_sequence == 23


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "odd size", "ahead of the log"])
def test_damaged_indexes_are_rebuilt(open_log, make_batch, partition: Path, suffix: str, damage: str) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.close(NOW_MS)
    before = {path.name: path.read_bytes() for path in files(partition, f"*.{suffix}")}
    for path in files(partition, f"*.{suffix}"):
        if damage == "missing":
            path.unlink()
        elif damage == "odd size":
            path.write_bytes(path.read_bytes() + b"x")
        elif suffix == "index":
            path.write_bytes(path.read_bytes() + struct.pack(">ii", 1000, 1 << 20))
        else:
            path.write_bytes(b"")
    log = open_log(was_clean=True, **SETTINGS)
    assert offsets_in(log) == list(range(0, 24, 2))
    for number in range(12):
        assert log.offset_for_timestamp(NOW_MS + 10 * number, 24)[:2] == (NOW_MS + 10 * number, 2 * number)
    log.close(NOW_MS)
    assert {path.name: path.read_bytes() for path in files(partition, f"*.{suffix}")} == before


def test_the_zeros_of_preallocated_indexes_are_no_entries(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.close(NOW_MS)
    sizes = [len(path.read_bytes()) for path in files(partition, "*index")]
    for path in files(partition, "*.index"):
        path.write_bytes(path.read_bytes() + bytes(800))
    for path in files(partition, "*.timeindex"):
        path.write_bytes(path.read_bytes() + bytes(1200))
    log = open_log(was_clean=True, **SETTINGS)
    assert offsets_in(log) == list(range(0, 24, 2))
    assert log.offset_of_max_timestamp(24)[:2] == (NOW_MS + 111, 23)
    fill(log, make_batch, 1)
    log.close(NOW_MS)
    log = open_log(was_clean=True, **SETTINGS)
    assert offsets_in(log) == list(range(0, 26, 2))
    assert len(files(partition, "*index")[0].read_bytes()) >= sizes[0]


def test_a_damaged_producer_snapshot_is_replaced_by_the_log(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.close(NOW_MS)
    newest = files(partition, "*.snapshot")[-1]
    newest.write_bytes(newest.read_bytes()[:-1] + b"\x00")
    log = open_log(was_clean=True, **SETTINGS)
    assert log.producer_states()[0].last_sequence == 23
    assert not newest.exists()


def test_a_damaged_epoch_file_is_replaced_by_the_log(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12, has_epochs=True)
    epochs = log.leader_epochs.entries
    log.close(NOW_MS)
    (partition / "leader-epoch-checkpoint").write_text("0\n7\nnonsense\n")
    log = open_log(was_clean=True, recovery_point=24, **SETTINGS)
    assert log.leader_epochs.entries == epochs


def test_epochs_past_the_end_are_forgotten(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 2)
    log.close(NOW_MS)
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n9 50\n")
    assert open_log(**SETTINGS).leader_epochs.entries == [(0, 0)]


def test_leftovers_of_deletion_and_unfinished_compaction_are_removed(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 4)
    log.close(NOW_MS)
    for name in (
        "00000000000000000000.log.cleaned",
        "00000000000000000000.index.swap",
        "00000000000000000009.log.deleted",
        "00000000000000000077.index",
    ):
        (partition / name).write_bytes(b"leftover")
    log = open_log(was_clean=True, **SETTINGS)
    assert offsets_in(log) == [0, 2, 4, 6]
    assert not [path for path in partition.iterdir() if path.suffix in (".cleaned", ".swap", ".deleted")]
    assert not (partition / "00000000000000000077.index").exists()


def test_a_finished_compaction_takes_the_place_of_its_sources(open_log, make_batch, partition: Path) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.close(NOW_MS)
    bases = [segment.base_offset for segment in log.segments]
    first, second = (segment.path.read_bytes() for segment in log.segments[:2])
    batch_bytes = len(make_batch(2, producer_id=1, producer_epoch=0, base_sequence=0))
    kept = first[:batch_bytes] + second[-batch_bytes:]
    (partition / "00000000000000000000.log.swap").write_bytes(kept)
    (partition / "00000000000000000000.index.swap").write_bytes(b"")
    log = open_log(was_clean=True, **SETTINGS)
    assert [segment.base_offset for segment in log.segments] == [bases[0], *bases[2:]]
    assert offsets_in(log) == [0, *range(bases[2] - 2, 24, 2)]


class EndingDisk(OsFileSystem):
    """The real disk, whose names come in a given order, until the process ends after so many changes of them."""

    def __init__(self, root: Path, changes: int, *, is_reversed: bool) -> None:
        super().__init__(root)
        self._changes_left = changes
        self._is_reversed = is_reversed

    def list_directory(self, path: Path) -> list[str]:
        return sorted(super().list_directory(path), reverse=self._is_reversed)

    def rename(self, source: Path, target: Path) -> None:
        self._count(source)
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._count(path)
        super().remove(path)

    def _count(self, path: Path) -> None:
        self._changes_left -= 1
        if self._changes_left < 0:
            raise StorageError(self.root, "change", path, "the process ends here")


@pytest.mark.parametrize("is_reversed", [True, False])
@pytest.mark.parametrize("changes", range(12))
def test_a_compaction_is_finished_with_all_its_files_however_often_that_is_interrupted(
    tmp_path: Path, make_batch, changes: int, is_reversed: bool
) -> None:
    for base in (0, 1):
        for part in ("log", "index", "timeindex", "txnindex"):
            (tmp_path / f"{base:020d}.{part}").write_bytes(b"old")
    new = {f"{0:020d}.{part}": part.encode() for part in ("index", "timeindex", "txnindex")}
    new[f"{0:020d}.log"] = make_batch(2)
    for name, data in new.items():
        (tmp_path / f"{name}.swap").write_bytes(data)
    with pytest.raises(StorageError, match="ends here"):
        finish_swaps(EndingDisk(tmp_path, changes, is_reversed=is_reversed), tmp_path)
    finish_swaps(OsFileSystem(tmp_path), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == new


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("was_clean", [True, False])
def test_old_message_formats_are_refused_and_left_alone(open_log, partition: Path, magic: int, was_clean: bool) -> None:
    body = bytes([magic, 0]) + (bytes(8) if magic else b"") + struct.pack(">i", -1) + struct.pack(">i", 5) + b"hello"
    message = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    partition.mkdir()
    path = partition / "00000000000000000000.log"
    path.write_bytes(message * 3)
    with pytest.raises(UnsupportedSegment, match=f"version {magic}"):
        open_log(was_clean=was_clean, **SETTINGS)
    assert path.read_bytes() == message * 3


def test_the_log_start_offset_outlives_a_restart(open_log, make_batch) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 12)
    log.increment_log_start_offset(9)
    log.close(NOW_MS)
    log = open_log(was_clean=True, log_start_offset=9, **SETTINGS)
    assert log.log_start_offset == 9
    assert offsets_in(log)[0] == 8
    assert log.segments[0].base_offset <= 9


def test_a_start_offset_past_the_end_begins_an_empty_log_there(open_log, make_batch) -> None:
    log = open_log(**SETTINGS)
    fill(log, make_batch, 2)
    log.close(NOW_MS)
    log = open_log(log_start_offset=50, **SETTINGS)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)
    assert offsets_in(log) == []


def test_a_duplicate_is_known_after_a_restart(open_log, make_batch) -> None:
    for was_clean in (True, False):
        log = open_log(**SETTINGS)
        fill(log, make_batch, 3)
        end = log.log_end_offset
        if was_clean:
            log.close(NOW_MS)
        log = open_log(was_clean=was_clean, **SETTINGS)
        again = make_batch(2, producer_id=1, producer_epoch=0, base_sequence=end - 2)
        info = log.append_as_leader(again, leader_epoch=0, now_ms=NOW_MS)
        assert (info.is_duplicate, info.first_offset) == (True, end - 2)
        log.abandon()


class KilledError(BaseException):
    """The process ends here."""


def test_a_truncation_that_a_kill_interrupts_leaves_no_hole(open_log, make_batch, disk, monkeypatch) -> None:
    for removals in range(12):
        log = open_log(segment_bytes=150)
        log.truncate_fully_and_start_at(0, NOW_MS)
        for _ in range(6):
            log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)
        left = [removals]

        def remove(path: Path, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KilledError
            left[0] -= 1
            OsFileSystem.remove(disk, path)

        with monkeypatch.context() as patch:
            patch.setattr(disk, "remove", remove)
            with pytest.raises(KilledError):
                log.truncate_to(1, NOW_MS)
        names = sorted(int(path.stem) for path in log.directory.glob("*.log"))
        assert names == list(range(len(names)))
        assert open_log(segment_bytes=150).log_end_offset == len(names)


@pytest.mark.parametrize(("policy", "end_offset"), [("delete", 2), ("compact", 6)])
def test_what_follows_a_gap_is_dropped_unless_the_log_is_compacted(open_log, make_batch, policy, end_offset) -> None:
    log = open_log(segment_bytes=150)
    for _ in range(6):
        log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)
    log.segments[2].remove_files()
    log = open_log(segment_bytes=150, cleanup_policy=frozenset({policy}))
    assert log.log_end_offset == end_offset
    assert len(list(log.directory.glob("*.log"))) == len(log.segments)


def test_clean_restarts_do_not_pile_up_producer_snapshots(open_log, make_batch) -> None:
    for number in range(6):
        log = open_log(was_clean=number > 0)
        log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)
        log.close(NOW_MS)
    assert len(list(log.directory.glob("*.snapshot"))) <= 2


def test_a_log_start_behind_the_end_of_a_cleanly_closed_log_is_not_believed(open_log, make_batch) -> None:
    log = open_log()
    log.append_as_leader(make_batch(3), leader_epoch=0, now_ms=NOW_MS)
    log.close(NOW_MS)
    log = open_log(was_clean=True, log_start_offset=30)
    assert (log.log_start_offset, log.log_end_offset) == (0, 3)


def test_an_end_that_is_not_the_one_of_the_shutdown_has_the_log_scanned(open_log, make_batch, disk) -> None:
    log = open_log()
    for _ in range(3):
        log.append_as_leader(make_batch(2), leader_epoch=0, now_ms=NOW_MS)
    log.close(NOW_MS)
    path = disk.root / "t-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[2 * len(data) // 3 + 6] ^= 1
    path.write_bytes(data)
    assert open_log(was_clean=True, recovery_point=6).log_end_offset == 4
