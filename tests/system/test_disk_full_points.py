"""The disk is full, or a sync fails, at every single point: what was acknowledged stays, and nothing else appears.

A log grows over several segments. Each run refuses a few changes in a row, from another point on. Whoever asked hears
of it and tries again; in the end the log holds every record once, also if the power fails after a sync. A sync that
fails is final: then the directory is offline and comes back with a restart.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.record_batch import batch_records, crc_is_valid, iterate_headers
from ottla.protocol.uuids import uuid_from_text
from ottla.storage.errors import DiskFull, StorageError
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.testing.sim.disk import SimulatedDisk, Survival

NOW_MS = 1_700_000_000_000
ROOT = Path("/disk")
TOPIC_ID = uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")
CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100, retention_ms=-1)
HOUR_MS = 3_600_000
BATCHES = 12
TRANSACTIONS = 4
# What needs space; removing, renaming, cutting and syncing do not.
GROWING = ("append to", "create", "write", "make")
SYNCING = ("sync", "sync names in")


class Refusal:
    """Refuses so many changes of some kinds, from the nth on."""

    def __init__(self, first: int, count: int, operations: tuple[str, ...], error: type[StorageError]) -> None:
        self.seen = 0
        self.refused = 0
        self._range = range(first, first + count)
        self._operations = operations
        self._error = error

    def __call__(self, operation: str, path: Path) -> None:
        if operation in self._operations:
            number, self.seen = self.seen, self.seen + 1
            if number in self._range:
                self.refused += 1
                raise self._error(ROOT, operation, path, "refused")


def open_manager(disk: SimulatedDisk) -> LogManager:
    manager = LogManager([LogDirectory(disk)])
    manager.load(lambda topic: CONFIG, recovery_threads=1, now_ms=NOW_MS)
    return manager


def wait_for_space() -> None:
    """Somebody else makes room."""


def insist(attempt: Callable[[], object], make_room: Callable[[], None] = wait_for_space) -> None:
    """Tries until there is space, as a client does."""
    for _ in range(50):
        try:
            attempt()
        except DiskFull:
            make_room()
            continue
        return
    raise AssertionError("still refused")


def grow(manager: LogManager, make_room: Callable[[], None] = wait_for_space) -> None:
    insist(lambda: manager.get_or_create("t", 0, TOPIC_ID, CONFIG, NOW_MS, is_new=True), make_room)
    for number in range(BATCHES):
        builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=number)
        builder.append(b"k", b"value %d" % number, timestamp_ms=NOW_MS + number)
        batch = bytes(builder.build())
        log = manager.get("t", 0)
        assert log is not None
        insist(partial(log.append_as_leader, batch, leader_epoch=number // 5, now_ms=NOW_MS), make_room)
        log.update_high_watermark(log.log_end_offset)
        assert values(log) == expected(number + 1)
        if number % 4 == 3:
            insist(partial(log.flush, NOW_MS), make_room)
            manager.checkpoint_pass()
            manager.high_watermark_pass()
            manager.retention_pass(NOW_MS)
            manager.removal_pass(NOW_MS)


def expected(count: int) -> list[tuple[int, bytes]]:
    return [(number, b"value %d" % number) for number in range(count)]


def values(log: Log) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    offset = 0
    while offset < log.log_end_offset:
        read = log.read(offset, 200, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True)
        for position, header in iterate_headers(read.records):
            assert crc_is_valid(read.records, header, position)
            records = batch_records(read.records, header, position)
            found += [(header.base_offset + record.offset_delta, record.value) for record in records]
        offset = read.next_offset
    return found


def append_old_batches(log: Log, count: int) -> None:
    for number in range(count):
        builder = BatchBuilder()
        builder.append(b"k", b"v" * 250, timestamp_ms=NOW_MS - HOUR_MS + number)
        log.append_as_leader(bytes(builder.build()), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def abort_transactions(manager: LogManager) -> None:
    """Each transaction fills a segment; the passes that sync take no for an answer and come again."""
    config = replace(CONFIG, flush_ms=0)
    insist(lambda: manager.get_or_create("t", 0, TOPIC_ID, config, NOW_MS, is_new=True))
    log = manager.get("t", 0)
    assert log is not None
    for number in range(TRANSACTIONS):
        builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=number, is_transactional=True)
        builder.append(b"k", b"v" * 150, timestamp_ms=NOW_MS)
        insist(partial(log.append_as_leader, bytes(builder.build()), leader_epoch=0, now_ms=NOW_MS))
        marker = end_txn_batch(
            producer_id=7, producer_epoch=0, is_commit=False, coordinator_epoch=0, timestamp_ms=NOW_MS
        )
        insist(partial(log.append_own_as_leader, marker, leader_epoch=0, now_ms=NOW_MS))
        if number % 2:
            manager.flush_pass(NOW_MS)
    insist(partial(log.flush, NOW_MS))


def points(operations: tuple[str, ...], story: Callable[[LogManager], None] = grow) -> int:
    """How many changes of these kinds a whole story makes."""
    disk = SimulatedDisk(ROOT)
    counting = Refusal(0, 0, operations, StorageError)
    manager = open_manager(disk)
    disk.before_change = counting
    story(manager)
    manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)
    return counting.seen


def test_a_disk_that_takes_only_a_part_of_what_is_written_costs_nothing() -> None:
    whole = SimulatedDisk(ROOT)
    grow(open_manager(whole))
    for capacity_bytes in range(0, whole.used_bytes, 13):
        disk = SimulatedDisk(ROOT, capacity_bytes=capacity_bytes)

        def make_room(disk: SimulatedDisk = disk) -> None:
            disk.capacity_bytes = None

        grow(open_manager(disk), make_room)
        disk.power_off()
        log = open_manager(disk.clone()).get("t", 0)
        assert log is not None
        assert values(log) == expected(BATCHES), f"{capacity_bytes} bytes"


@pytest.mark.parametrize("length", [1, 3, 12])
@pytest.mark.parametrize("end", ["clean", "killed"])
def test_a_disk_that_is_full_for_a_while_costs_nothing(length: int, end: str) -> None:
    for first in range(points(GROWING)):
        disk = SimulatedDisk(ROOT)
        manager = open_manager(disk)
        disk.before_change = refusal = Refusal(first, length, GROWING, DiskFull)
        grow(manager)
        if end == "clean":
            manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)
        assert refusal.refused > 0 or end == "killed", f"point {first}"
        found = disk.clone()
        log = open_manager(found).get("t", 0)
        assert log is not None
        assert values(log) == expected(BATCHES), f"point {first}"


@pytest.mark.parametrize("survival", [Survival.NOTHING, Survival.NAMES, Survival.DATA, Survival.TORN])
def test_a_power_cut_after_a_full_disk_takes_nothing_that_was_synced(survival: Survival) -> None:
    for first in range(points(GROWING, abort_transactions)):
        disk = SimulatedDisk(ROOT)
        manager = open_manager(disk)
        disk.before_change = Refusal(first, 1, GROWING, DiskFull)
        abort_transactions(manager)
        disk.before_change = Refusal(0, 0, GROWING, DiskFull)
        manager.checkpoint_pass()
        found = disk.after_power_cut(survival, random.Random(first))
        log = open_manager(found).get("t", 0)
        assert log is not None
        assert log.log_end_offset == 2 * TRANSACTIONS, f"point {first}"
        aborted = log.aborted_transactions(0, log.log_end_offset)
        assert [one.first_offset for one in aborted] == list(range(0, 2 * TRANSACTIONS, 2)), f"point {first}"


def test_a_flush_syncs_batches_that_it_has_no_space_to_index() -> None:
    disk = SimulatedDisk(ROOT)
    manager = open_manager(disk)
    config = replace(CONFIG, segment_bytes=10_000, flush_ms=0)
    logs = [manager.get_or_create("t", number, TOPIC_ID, config, NOW_MS, is_new=True) for number in range(2)]
    for log in logs:
        append_old_batches(log, 3)
    disk.before_change = Refusal(0, 1_000_000, GROWING, DiskFull)
    assert manager.flush_pass(NOW_MS) == 0
    assert [log.recovery_point for log in logs] == [0, 0]
    found = open_manager(disk.after_power_cut(Survival.NOTHING, random.Random(0)))
    assert {key: log.log_end_offset for key, log in found.all()} == {("t", 0): 3, ("t", 1): 3}


def test_a_log_with_a_lost_index_can_be_read_on_a_full_disk() -> None:
    disk = SimulatedDisk(ROOT)
    manager = open_manager(disk)
    grow(manager)
    manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)
    found = disk.clone()
    log = open_manager(found).get("t", 0)
    assert log is not None
    found.put(Path("t-0/00000000000000000000.index"), None)
    found.before_change = Refusal(0, 1_000_000, GROWING, DiskFull)
    assert values(log) == expected(BATCHES)


def test_a_sync_that_fails_is_final_until_a_restart() -> None:
    for first in range(points(SYNCING)):
        disk = SimulatedDisk(ROOT)
        manager = open_manager(disk)
        disk.before_change = Refusal(first, 1, SYNCING, StorageError)
        try:
            grow(manager)
        except StorageError as error:
            # Told to whoever waited for it; in a pass the manager finds out itself.
            manager.fail_directory(error)
        except AssertionError:
            assert manager.get("t", 0) is None, f"point {first}: the log is gone for another reason"
        else:
            manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)
        assert manager.online_directories == [], f"point {first}"
        log = open_manager(disk.clone()).get("t", 0)
        if log is not None:
            found = values(log)
            assert found == expected(len(found)), f"point {first}"


def test_retention_and_removal_free_what_they_can_on_a_full_disk() -> None:
    disk = SimulatedDisk(ROOT)
    manager = open_manager(disk)
    config = LogConfig(segment_bytes=400, retention_ms=1000, file_delete_delay_ms=0)
    batches = {"one-segment": 1, "six-segments": 6, "deleted": 2}
    logs = {}
    for topic, count in batches.items():
        logs[topic] = manager.get_or_create(topic, 0, TOPIC_ID, config, NOW_MS, is_new=True)
        append_old_batches(logs[topic], count)
    manager.delete("deleted", 0, NOW_MS)
    disk.before_change = Refusal(0, 1_000_000, GROWING, DiskFull)
    manager.retention_pass(NOW_MS)
    manager.removal_pass(NOW_MS)
    left = [path.parent.name for path in disk.files() if path.suffix in (".log", ".deleted")]
    assert sorted(left) == ["one-segment-0", "six-segments-0"], "an active segment needs space for its successor"
    assert (logs["six-segments"].log_start_offset, logs["six-segments"].log_end_offset) == (5, 6)
    disk.before_change = Refusal(0, 0, GROWING, DiskFull)
    assert manager.retention_pass(NOW_MS) == 2
    assert all(log.size_bytes == 0 for _, log in manager.all())
