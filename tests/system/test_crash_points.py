"""The power fails after every single change to the disk: what was synced is there, and the log is sound.

Each story goes through one part of a log's life. It says at each step what a crash may not take away: everything that
was flushed, and with a mere kill everything that was appended. Deleted records may come back if the crash came before
the next checkpoint; nothing else may change what is served.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harness.cleaners import clean_next
from harness.crash_points import CrashState, Recorder, crash_states
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.record_batch import batch_records, crc_is_valid, iterate_headers
from ottla.protocol.uuids import uuid_from_text
from ottla.storage.log import AppendInfo, Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.storage.retention import deletable_segments
from ottla.testing.sim.disk import SimulatedDisk

NOW_MS = 1_700_000_000_000
TOPIC_ID = uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")
PRODUCER = 7
KEY = ("t", 0)

RECORDS = {"segment_bytes": 400, "index_interval_bytes": 150, "retention_ms": -1, "file_delete_delay_ms": 0}
CONFIG = LogConfig(**RECORDS)
COMPACTED = LogConfig(**RECORDS, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0)

Content = tuple[bytes, bytes, int]
# Offset, producer and what it did there: "data", "commit" or "abort".
TransactionEvent = tuple[int, int, str]


@dataclass(frozen=True)
class Promise:
    """What is known of partition t-0 at a moment."""

    # By offset: key, value, leader epoch.
    appended: dict[int, Content]
    end: int = 0
    flushed_end: int = 0
    # Below it records may be gone, because somebody asked for that.
    start: int = 0
    must_exist: bool = False
    must_be_gone: bool = False
    # In the order of the log; the last one may still be on its way.
    transactions: tuple[TransactionEvent, ...] = ()


class Story:
    """A partition and what is done to it."""

    def __init__(self, config: LogConfig, directories: int = 1) -> None:
        self.config = config
        roots = [Path(f"/disk{number}") for number in range(directories)]
        self.recorder = Recorder(roots, Promise({}))
        self.manager = open_manager(self.recorder.disks, config)
        self.epoch = 0
        self.sequence = 0
        self.sequences: dict[int, int] = {}
        self.number = 0

    def promise(self, **changes: object) -> None:
        self.recorder.promise = replace(self.recorder.promise, **changes)  # type: ignore[arg-type]

    @property
    def log(self) -> Log:
        log = self.manager.get(*KEY)
        assert log is not None
        return log

    def create(self) -> None:
        self.promise(appended={}, end=0, flushed_end=0, start=0, must_be_gone=False)
        self.manager.get_or_create(*KEY, TOPIC_ID, self.config, NOW_MS, is_new=True)
        self.promise(must_exist=True)
        self.sequence = 0

    def append(self, batches: int) -> None:
        for _ in range(batches):
            builder = BatchBuilder(producer_id=PRODUCER, producer_epoch=0, base_sequence=self.sequence)
            contents: list[Content] = []
            for _ in range(2):
                self.number += 1
                key, value = b"k%d" % (self.number % 3), b"value %d" % self.number
                builder.append(key, value, timestamp_ms=NOW_MS + self.number)
                contents.append((key, value, self.epoch))
            info = self.log.append_as_leader(bytes(builder.build()), leader_epoch=self.epoch, now_ms=NOW_MS)
            self.log.update_high_watermark(self.log.log_end_offset)
            self.sequence += 2
            new = {info.first_offset + n: content for n, content in enumerate(contents)}
            self.promise(appended=self.recorder.promise.appended | new, end=info.last_offset + 1)

    def write(self, producer_id: int) -> None:
        """A record in the producer's transaction."""
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + 1
        builder = BatchBuilder(producer_id=producer_id, base_sequence=sequence, is_transactional=True, producer_epoch=0)
        self.number += 1
        key, value = b"t%d" % self.number, b"value %d" % self.number
        builder.append(key, value, timestamp_ms=NOW_MS + self.number)
        self._append_event(
            bytes(builder.build()), producer_id, "data", (key, value, self.epoch), self.log.append_as_leader
        )

    def end(self, producer_id: int, outcome: str) -> None:
        marker = end_txn_batch(
            producer_id=producer_id,
            producer_epoch=0,
            is_commit=outcome == "commit",
            coordinator_epoch=0,
            timestamp_ms=NOW_MS,
        )
        ((_, header),) = iterate_headers(marker)
        (record,) = batch_records(marker, header)
        assert record.key is not None
        assert record.value is not None
        content = (record.key, record.value, self.epoch)
        self._append_event(bytes(marker), producer_id, outcome, content, self.log.append_own_as_leader)

    def _append_event(
        self, batch: bytes, producer_id: int, what: str, content: Content, append: Callable[..., AppendInfo]
    ) -> None:
        offset = self.log.log_end_offset
        self.promise(transactions=(*self.recorder.promise.transactions, (offset, producer_id, what)))
        append(batch, leader_epoch=self.epoch, now_ms=NOW_MS)
        self.log.update_high_watermark(self.log.log_end_offset)
        self.promise(appended=self.recorder.promise.appended | {offset: content}, end=offset + 1)

    def flush(self) -> None:
        self.log.flush(NOW_MS)
        self.promise(flushed_end=self.recorder.promise.end)

    def checkpoint(self) -> None:
        self.manager.checkpoint_pass()
        self.manager.log_start_pass()
        self.manager.high_watermark_pass()

    def retain(self, retention_bytes: int) -> None:
        config = replace(self.config, retention_bytes=retention_bytes)
        log = self.log
        doomed = deletable_segments(
            log.segments, config, log.log_start_offset, log.log_end_offset, log.log_end_offset, NOW_MS
        )
        ends = [segment.base_offset for segment in log.segments[1:]] + [log.log_end_offset]
        self.promise(start=max(self.recorder.promise.start, ends[len(doomed) - 1]))
        log.update_config(config)
        assert self.manager.retention_pass(NOW_MS) == len(doomed) > 0
        self.manager.removal_pass(NOW_MS)
        log.update_config(self.config)

    def delete_records(self, offset: int) -> None:
        self.promise(start=offset)
        assert self.log.increment_log_start_offset(offset)

    def delete_topic(self) -> None:
        self.promise(must_exist=False)
        self.manager.delete(*KEY, NOW_MS)
        self.promise(must_be_gone=True)
        self.manager.removal_pass(NOW_MS)

    def compact(self) -> None:
        assert clean_next(self.manager, NOW_MS) == KEY
        self.manager.removal_pass(NOW_MS)

    def move(self) -> None:
        target = self.manager.directories[1]
        move = self.manager.begin_move(*KEY, target, NOW_MS)
        move.catch_up(NOW_MS)
        self.append(1)
        self.manager.finish_move(move, TOPIC_ID, NOW_MS)
        # The copy is synced before it takes the log's place.
        self.promise(flushed_end=self.recorder.promise.end)
        self.manager.removal_pass(NOW_MS)

    def restart(self) -> None:
        self.manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)
        self.promise(flushed_end=self.recorder.promise.end)
        self.manager = open_manager(self.recorder.disks, self.config)
        self.epoch += 1


def open_manager(disks: tuple[SimulatedDisk, ...], config: LogConfig) -> LogManager:
    manager = LogManager([LogDirectory(disk) for disk in disks])
    manager.load(lambda topic: config, recovery_threads=1, now_ms=NOW_MS)
    assert len(manager.online_directories) == len(disks), "a disk that works was given up"
    return manager


def append_and_roll() -> Story:
    story = Story(CONFIG)
    story.create()
    story.append(5)
    story.flush()
    story.epoch = 2
    story.append(6)
    story.checkpoint()
    story.append(3)
    story.flush()
    story.checkpoint()
    story.append(2)
    return story


def restart() -> Story:
    story = Story(CONFIG)
    story.create()
    story.append(5)
    story.restart()
    story.append(9)
    story.flush()
    story.checkpoint()
    story.restart()
    story.append(2)
    return story


def retention() -> Story:
    story = Story(CONFIG)
    story.create()
    story.append(9)
    story.flush()
    story.checkpoint()
    story.retain(400)
    story.append(4)
    story.checkpoint()
    story.retain(300)
    story.append(2)
    story.flush()
    return story


def delete_records() -> Story:
    story = Story(CONFIG)
    story.create()
    story.append(7)
    story.flush()
    story.delete_records(5)
    story.checkpoint()
    story.append(3)
    story.delete_records(20)
    story.checkpoint()
    story.append(3)
    story.flush()
    return story


def delete_topic() -> Story:
    story = Story(CONFIG)
    story.create()
    story.append(7)
    story.flush()
    story.delete_records(3)
    story.checkpoint()
    story.delete_topic()
    story.create()
    story.append(2)
    story.flush()
    story.checkpoint()
    story.append(1)
    return story


def compaction() -> Story:
    story = Story(COMPACTED)
    story.create()
    story.append(9)
    story.flush()
    story.checkpoint()
    story.compact()
    story.append(6)
    story.flush()
    story.compact()
    story.append(1)
    return story


def directory_move() -> Story:
    story = Story(CONFIG, directories=2)
    story.create()
    story.append(7)
    story.flush()
    story.checkpoint()
    story.move()
    story.append(3)
    story.flush()
    story.checkpoint()
    return story


def transactions() -> Story:
    """Some end in the segment where they began, some later, some not at all; some before a snapshot, some after."""
    story = Story(CONFIG)
    story.create()
    story.append(1)
    story.write(11)
    story.write(12)
    story.end(11, "abort")
    story.flush()
    story.write(13)
    story.end(12, "commit")
    story.append(2)
    story.write(13)
    story.checkpoint()
    story.end(13, "abort")
    story.write(11)
    story.restart()
    story.write(12)
    story.end(11, "abort")
    story.append(1)
    story.flush()
    story.write(13)
    story.end(12, "abort")
    story.checkpoint()
    story.end(13, "commit")
    story.write(11)
    return story


STORIES: list[Callable[[], Story]] = [
    append_and_roll,
    restart,
    retention,
    delete_records,
    delete_topic,
    compaction,
    directory_move,
    transactions,
]


def read_records(log: Log) -> Iterator[tuple[int, Content]]:
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, 300, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True)
        for position, header in iterate_headers(read.records):
            assert crc_is_valid(read.records, header, position)
            first_offset = max(header.base_offset, log.log_start_offset)
            assert log.leader_epochs.epoch_of(first_offset) == header.leader_epoch, "wrong leader epochs"
            for record in batch_records(read.records, header, position):
                assert record.key is not None
                assert record.value is not None
                offset_of_record = header.base_offset + record.offset_delta
                if offset_of_record >= log.log_start_offset:
                    yield offset_of_record, (record.key, record.value, header.leader_epoch)
        assert read.next_offset > offset
        offset = read.next_offset


def check(state: CrashState[Promise], config: LogConfig) -> None:
    promise = state.promise
    manager = open_manager(state.disks, config)
    log = manager.get(*KEY)
    if log is None:
        assert not promise.must_exist
        return
    assert not promise.must_be_gone
    if not promise.appended:
        assert (log.log_start_offset, log.log_end_offset) in {(0, 0), (0, 2)}, "it inherited from another"
    elif promise.must_exist:
        check_records(log, promise, is_kill=state.is_kill, is_compacted=config.is_compacted)
        check_transactions(log, promise)
    check_use(manager, log, config)


def check_records(log: Log, promise: Promise, *, is_kill: bool, is_compacted: bool) -> None:
    kept_end = promise.end if is_kill else promise.flushed_end
    served = dict(read_records(log))
    for offset, content in served.items():
        # What was being appended may be there without a promise.
        assert promise.appended.get(offset, content) == content, f"wrong record at {offset}"
    assert log.log_end_offset >= kept_end
    required = {offset for offset in promise.appended if promise.start <= offset < kept_end}
    if is_compacted:
        latest = {promise.appended[offset][0]: offset for offset in sorted(required)}
        required = set(latest.values()) - {o for o in required if promise.appended[o][0] in later_keys(served, o)}
    assert required <= set(served), f"lost: {sorted(required - set(served))}"
    if not is_compacted:
        assert sorted(served) == list(range(log.log_start_offset, log.log_end_offset)), "a hole in the log"


def check_transactions(log: Log, promise: Promise) -> None:
    """Each transaction is open, or ended as its marker says, if the log holds the marker."""
    log.update_high_watermark(log.log_end_offset)
    begun: dict[int, int] = {}
    aborted = []
    for offset, producer_id, what in promise.transactions:
        if offset >= log.log_end_offset:
            break
        if what == "data":
            begun.setdefault(producer_id, offset)
            continue
        first_offset = begun.pop(producer_id)
        if what == "abort":
            aborted.append((producer_id, first_offset, offset))
    found = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    assert sorted(entry[:3] for entry in found) == sorted(aborted), "other transactions are aborted"
    told = {state.producer_id: state.transaction_first_offset for state in log.producer_states()}
    assert {key: first for key, first in told.items() if first is not None} == begun, "others are open"
    assert log.last_stable_offset == min(begun.values(), default=log.log_end_offset)


def later_keys(served: dict[int, Content], offset: int) -> set[bytes]:
    return {content[0] for later, content in served.items() if later > offset}


def check_use(manager: LogManager, log: Log, config: LogConfig) -> None:
    """The producer goes on where the log ends, a repetition is recognised, and a clean restart changes nothing."""
    known = {state.producer_id: state for state in log.producer_states()}
    sequence = known[PRODUCER].last_sequence + 1 if PRODUCER in known else 0
    builder = BatchBuilder(producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence)
    builder.append(b"k", b"v", timestamp_ms=NOW_MS)
    batch = bytes(builder.build())
    end = log.log_end_offset
    first = log.append_as_leader(batch, leader_epoch=9, now_ms=NOW_MS)
    again = log.append_as_leader(batch, leader_epoch=9, now_ms=NOW_MS)
    assert (first.first_offset, again.first_offset, again.is_duplicate) == (end, end, True)
    log.update_high_watermark(log.log_end_offset)
    before = list(read_records(log))
    disks = tuple(directory.file_system for directory in manager.directories)
    manager.close(broker_epoch=2, now_ms=NOW_MS, threads_per_directory=1)
    reopened = open_manager(disks, config).get(*KEY)  # type: ignore[arg-type]
    assert reopened is not None
    assert list(read_records(reopened)) == before


@pytest.mark.parametrize("tell", STORIES)
def test_the_log_is_sound_after_a_power_cut_at_any_point(tell: Callable[[], Story]) -> None:
    story = tell()
    wrong: list[str] = []
    count = 0
    for state in crash_states(story.recorder.moments, lambda disks: open_manager(disks, story.config)):
        count += 1
        try:
            check(state, story.config)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            wrong.append(f"{state.name}: {type(error).__name__}: {str(error).splitlines()[:1]}")
    print(tell.__name__, len(story.recorder.moments), "moments,", count, "states")
    assert not wrong, f"{len(wrong)} of {count} states:\n" + "\n".join(wrong[:40])
