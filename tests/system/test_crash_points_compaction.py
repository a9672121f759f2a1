"""The power fails after every single change that compaction makes to the disk: readers find the same table.

The log is written and flushed first, with tombstones, committed and aborted transactions. From then on only compaction
changes files: the worker's `.cleaned` ones, the swap, the removal of what is superseded, the checkpoint. So whatever
survives of them, committed records must fold to the same table, producers must be known as before, and the next start
must leave nothing half done behind.
"""

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.crash_points import CrashState, Recorder, crash_states
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch, parse_end_txn_marker
from ottla.protocol.record_batch import batch_records, crc_is_valid, iterate_headers, set_base_offset
from ottla.protocol.uuids import uuid_from_text
from ottla.storage.cleaning.job import CleaningLimits
from ottla.storage.log import Log
from ottla.storage.log_cleaning import LeftOut, Outcome
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.testing.sim.disk import SimulatedDisk

# Two thousand states are opened, and some compacted and opened again.
pytestmark = pytest.mark.timeout(300)

NOW_MS = 1_700_000_000_000
RETENTION_MS = 1000
TOPIC_ID = uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")
KEY = ("t", 0)
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=RETENTION_MS,
    segment_bytes=600,
    index_interval_bytes=150,
    retention_ms=-1,
    file_delete_delay_ms=0,
    producer_id_expiration_ms=10**15,
)
# Room for four keys: several passes are needed, and ends of passes lie inside segments.
LIMITS = CleaningLimits(dedupe_buffer_bytes=24 * 5, io_buffer_bytes=256, load_factor=1.0)

Table = dict[bytes, bytes]
Producers = list[tuple[int, int, int]]


@dataclass(frozen=True)
class Promise:
    """What was flushed."""

    table: Table
    producers: Producers
    end: int


class Story:
    def __init__(self) -> None:
        self.recorder = Recorder([Path("/disk")], Promise({}, [], 0))
        self.manager = open_manager(self.recorder.disks)
        self.manager.get_or_create(*KEY, TOPIC_ID, CONFIG, NOW_MS, is_new=True)
        self.sequences = {1: 0, 2: 0}

    @property
    def log(self) -> Log:
        log = self.manager.get(*KEY)
        assert log is not None
        return log

    def write(self, producer_id: int, pairs: list[tuple[bytes, bytes | None]], *, is_transactional: bool) -> None:
        builder = BatchBuilder(
            base_offset=self.log.log_end_offset,
            leader_epoch=0,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self.sequences[producer_id],
            is_transactional=is_transactional,
        )
        self.sequences[producer_id] += len(pairs)
        for key, value in pairs:
            builder.append(key, value, timestamp_ms=NOW_MS)
        self._append(builder.build())

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        marker = end_txn_batch(
            producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=NOW_MS
        )
        set_base_offset(marker, self.log.log_end_offset)
        self._append(marker)

    def _append(self, batch: bytearray) -> None:
        self.log.append_as_follower(bytes(batch), now_ms=NOW_MS)
        self.log.update_high_watermark(self.log.log_end_offset)

    def fill(self, rounds: int) -> None:
        for number in range(rounds):
            value = b"%d" % (self.log.log_end_offset + number)
            self.write(1, [(b"a", value), (b"k%d" % (number % 4), value), (b"gone", None)], is_transactional=False)
            self.write(2, [(b"b", value), (b"void" if number % 2 else b"c", value)], is_transactional=True)
            self.end(2, is_commit=number % 2 == 0)

    def flush(self) -> None:
        self.log.flush(NOW_MS)
        self.manager.checkpoint_pass()
        self.manager.high_watermark_pass()
        self.recorder.promise = Promise(table_of(self.log), producers_of(self.log), self.log.log_end_offset)


def open_manager(disks: tuple[SimulatedDisk, ...]) -> LogManager:
    manager = LogManager([LogDirectory(disk) for disk in disks])
    manager.load(lambda topic: CONFIG, recovery_threads=1, now_ms=NOW_MS)
    assert manager.online_directories, "a disk that works was given up"
    return manager


def clean(manager: LogManager, now_ms: int) -> int:
    """Clean until nothing is dirty; how many passes that took."""
    passes = 0
    while True:
        found = manager.cleaning.candidates(manager.directories[0], now_ms)
        chosen = manager.cleaning.choose(found, LeftOut())
        if chosen is None:
            return passes
        assert manager.cleaning.clean(chosen, now_ms, limits=LIMITS) is Outcome.CLEANED
        manager.retention_pass(now_ms)
        passes += 1


def table_of(log: Log) -> Table:
    """What a consumer of committed records folds the log to."""
    end_offset = log.last_stable_offset
    aborted = deque(log.aborted_transactions(log.log_start_offset, end_offset))
    void: set[int] = set()
    table: Table = {}
    offset = log.log_start_offset
    while offset < end_offset:
        read = log.read(offset, 500, max_offset_exclusive=end_offset, min_one_batch=True, allow_blocking=True)
        for position, header in iterate_headers(read.records):
            assert crc_is_valid(read.records, header, position)
            while aborted and aborted[0].first_offset <= header.last_offset:
                void.add(aborted.popleft().producer_id)
            if header.is_control:
                marker = parse_end_txn_marker(read.records[position : position + header.size_bytes], header)
                if marker is not None and not marker.is_commit:
                    void.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in void):
                for record in batch_records(read.records, header, position):
                    assert record.key is not None
                    table.pop(record.key, None)
                    if record.value is not None:
                        table[record.key] = record.value
        assert read.next_offset > offset
        offset = read.next_offset
    return table


def producers_of(log: Log) -> Producers:
    return sorted((state.producer_id, state.epoch, state.last_sequence) for state in log.producer_states())


def check(state: CrashState[Promise], *, goes_on: bool) -> None:
    promise = state.promise
    manager = open_manager(state.disks)
    log = manager.get(*KEY)
    assert log is not None
    log.update_high_watermark(log.log_end_offset)
    assert log.log_end_offset >= promise.end
    if log.log_end_offset == promise.end:
        assert log.last_stable_offset == promise.end, "every transaction had ended"
        assert table_of(log) == promise.table
        assert producers_of(log) == promise.producers
    left = [path for path in state.disks[0].files() if path.name.endswith((".cleaned", ".swap", ".deleted"))]
    assert left == [], "the start leaves nothing half done"
    if goes_on:
        check_use(state, manager, log)


def check_use(state: CrashState[Promise], manager: LogManager, log: Log) -> None:
    """The log can be cleaned to the end, and opened again."""
    before = table_of(log)
    clean(manager, NOW_MS + 5 * RETENTION_MS)
    assert table_of(log) == before
    manager.close(broker_epoch=2, now_ms=NOW_MS, threads_per_directory=1)
    reopened = open_manager(state.disks).get(*KEY)
    assert reopened is not None
    reopened.update_high_watermark(reopened.log_end_offset)
    assert table_of(reopened) == before


def test_readers_find_the_same_table_after_a_power_cut_at_any_point_of_compaction() -> None:
    story = Story()
    story.fill(3)
    story.flush()
    story.recorder.moments.clear()
    assert clean(story.manager, NOW_MS) > 1, "the map is too small for one pass"
    story.fill(2)
    story.flush()
    assert clean(story.manager, NOW_MS + RETENTION_MS) > 0, "tombstones and markers of the first passes go"
    wrong: list[str] = []
    count = 0
    for state in crash_states(story.recorder.moments, open_manager):
        count += 1
        try:
            check(state, goes_on=count % 5 == 0)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            wrong.append(f"{state.name}: {type(error).__name__}: {str(error).splitlines()[:1]}")
    print(len(story.recorder.moments), "moments,", count, "states")
    assert not wrong, f"{len(wrong)} of {count} states:\n" + "\n".join(wrong[:40])
