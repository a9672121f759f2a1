"""Damaged files of partitions: what each kind of damage leads to, byte by byte.

A directory with two partitions is written and stopped, by a clean shutdown or by a kill after a flush. Then one file is
damaged in every way that `harness.damage` knows, and the directory is opened. Whatever was done to it:

- a batch that is served is one that was appended, at its offset, unchanged;
- what lies in the log before the damage is served;
- damage to a file that holds no records costs no record;
- a message and never a traceback says what is wrong, and a log that is online takes appends again.

`OUTCOMES` says which outcomes each kind of file may have; a test fails on any other.
"""

import random
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.damage import Damage, batch_damages, damages
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import iterate_headers
from ottla.protocol.uuids import uuid_from_text
from ottla.storage.errors import DamagedFile, UnsupportedSegment
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager
from ottla.testing.sim.disk import SimulatedDisk, Survival

NOW_MS = 1_700_000_000_000
ROOT = Path("/disk")
TOPIC_ID = uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")
CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=150, retention_ms=-1)
TIMES = [NOW_MS - 1, *(NOW_MS + n * 10 for n in range(16)), NOW_MS + 155]
IDEMPOTENT, TRANSACTIONAL = 7, 9


class Outcome(Enum):
    UNHARMED = "nothing that anybody could notice"
    CUT = "the log is cut at the damage"
    GAP = "the batches that were taken out are missing, the others are served"
    REFUSED_READ = "whoever reads the damaged batch gets CORRUPT_MESSAGE"
    OFFLINE = "the directory goes offline"
    REFUSED_START = "the node does not start and says which file is to blame"
    BELIEVED = "a number without a checksum that reads well is taken for what it says"


UNHARMED, CUT, GAP, REFUSED_READ, OFFLINE, REFUSED_START, BELIEVED = Outcome

# By the end of the file's name: what may follow a clean shutdown, and a kill.
OUTCOMES: dict[str, tuple[set[Outcome], set[Outcome]]] = {
    ".log": ({UNHARMED, CUT, GAP, REFUSED_READ, BELIEVED}, {UNHARMED, CUT, GAP, REFUSED_READ, BELIEVED}),
    ".index": ({UNHARMED}, {UNHARMED}),
    ".timeindex": ({UNHARMED}, {UNHARMED}),
    # After a kill, one that is gone, or cut between two entries, is one of a segment with fewer aborted transactions.
    ".txnindex": ({UNHARMED}, {UNHARMED, BELIEVED}),
    "transaction-index-checkpoint": ({UNHARMED}, set()),
    ".snapshot": ({UNHARMED}, {UNHARMED}),
    "leader-epoch-checkpoint": ({UNHARMED, BELIEVED}, {UNHARMED, BELIEVED}),
    "partition.metadata": ({UNHARMED, REFUSED_START}, {UNHARMED, REFUSED_START}),
    "recovery-point-offset-checkpoint": ({UNHARMED}, {UNHARMED}),
    "replication-offset-checkpoint": ({UNHARMED}, {UNHARMED}),
    "cleaner-offset-checkpoint": ({UNHARMED}, {UNHARMED}),
    "log-start-offset-checkpoint": ({UNHARMED, BELIEVED}, {UNHARMED, BELIEVED}),
    ".kafka_cleanshutdown": ({UNHARMED}, set()),
}


class Answers(NamedTuple):
    """All that clients can find out about a log."""

    start: int
    end: int
    batches: dict[int, bytes]
    aborted: list[object]
    by_time: list[object]
    epochs: list[tuple[int, int]]


class Written(NamedTuple):
    disk: SimulatedDisk
    # By partition and offset.
    appended: dict[int, dict[int, bytes]]
    answers: dict[int, Answers]
    last_of_producer: bytes


def batch(count: int, time: int, **settings: object) -> bytes:
    builder = BatchBuilder(**settings)  # type: ignore[arg-type]
    for number in range(count):
        builder.append(b"k%d" % number, b"value %d" % time, timestamp_ms=NOW_MS + time + number)
    return bytes(builder.build())


def fill(log: Log) -> bytes:
    """Three segments with several epochs, producers and transactions; the last batch of the idempotent producer."""

    def append(content: bytes, epoch: int, *, is_own: bool = False) -> None:
        append_it = log.append_own_as_leader if is_own else log.append_as_leader
        append_it(content, leader_epoch=epoch, now_ms=NOW_MS)
        log.update_high_watermark(log.log_end_offset)

    def transaction(sequence: int, time: int, epoch: int, *, is_commit: bool) -> None:
        producer = {"producer_id": TRANSACTIONAL, "producer_epoch": 1}
        append(batch(2, time, **producer, base_sequence=sequence, is_transactional=True), epoch)
        append(batch(1, time + 1), epoch)
        marker = end_txn_batch(**producer, is_commit=is_commit, coordinator_epoch=3, timestamp_ms=NOW_MS + time + 2)
        append(marker, epoch, is_own=True)

    last = b""
    for number in range(3):
        last = batch(2, 20 * number, producer_id=IDEMPOTENT, producer_epoch=0, base_sequence=2 * number)
        append(last, 0)
    transaction(0, 70, 0, is_commit=False)
    transaction(2, 90, 2, is_commit=True)
    append(batch(3, 100), 2)
    transaction(4, 110, 5, is_commit=False)
    last = batch(2, 130, producer_id=IDEMPOTENT, producer_epoch=0, base_sequence=6)
    append(last, 5)
    append(batch(1, 150), 5)
    return last


def open_directory(disk: SimulatedDisk) -> LogManager:
    manager = LogManager([LogDirectory(disk)])
    manager.load(lambda topic: CONFIG, recovery_threads=1, now_ms=NOW_MS)
    return manager


def write(*, is_clean: bool) -> Written:
    disk = SimulatedDisk(ROOT)
    manager = open_directory(disk)
    logs = [manager.get_or_create("t", index, TOPIC_ID, CONFIG, NOW_MS, is_new=True) for index in range(2)]
    last = fill(logs[0])
    logs[1].append_as_leader(batch(3, 0), leader_epoch=0, now_ms=NOW_MS)
    logs[1].append_as_leader(batch(3, 10), leader_epoch=0, now_ms=NOW_MS)
    logs[1].update_high_watermark(6)
    appended = {index: dict(read_all(log)) for index, log in enumerate(logs)}
    logs[1].increment_log_start_offset(3)
    manager.directories[0].write_cleaner_offset(("t", 0), logs[0], 6)
    answers = {index: ask(log) for index, log in enumerate(logs)}
    for log in logs:
        log.flush(NOW_MS)
    manager.checkpoint_pass()
    manager.log_start_pass()
    manager.high_watermark_pass()
    if is_clean:
        manager.close(broker_epoch=1, now_ms=NOW_MS, threads_per_directory=1)
    found = disk.after_power_cut(Survival.EVERYTHING, random.Random(0))
    return Written(found, appended, answers, last)


def ask(log: Log) -> Answers:
    end = log.log_end_offset
    times = [log.offset_for_timestamp(time, end) for time in TIMES] + [log.offset_of_max_timestamp(end)]
    aborted = [entry[:3] for entry in log.aborted_transactions(log.log_start_offset, end)]
    epochs = [log.end_offset_for_epoch(epoch) for epoch in range(7)]
    return Answers(log.log_start_offset, end, dict(read_all(log)), aborted, times, epochs)


def read_all(
    log: Log, *, starts: tuple[int, ...] = (), refused: list[int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Every batch that is served, by offset; one that is refused is passed over if its end is known from `starts`."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            read = log.read(
                offset, 200, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True
            )
        except ApiError as error:
            assert error.code is ErrorCode.CORRUPT_MESSAGE, error
            if refused is not None:
                refused.append(offset)
            offset = min((start for start in starts if start > offset), default=log.log_end_offset)
            continue
        for position, header in iterate_headers(read.records):
            yield header.base_offset, bytes(read.records[position : position + header.size_bytes])
        assert read.next_offset > offset
        offset = read.next_offset


def is_alike(content: bytes, appended: bytes | None) -> bool:
    """Whether a batch is the one appended, but for the leader epoch, which nothing protects in Kafka's format."""
    return appended is not None and content[:12] == appended[:12] and content[16:] == appended[16:]


class Case:
    """One damaged disk, opened and looked at."""

    def __init__(self, written: Written, path: Path, damage: Damage) -> None:
        self.written = written
        self.path = path
        self.damage = damage
        self.is_records = path.suffix == ".log"

    def outcome(self) -> Outcome:
        disk = self.written.disk.clone()
        disk.put(self.path, self.damage.data)
        try:
            manager = open_directory(disk)
        except (DamagedFile, UnsupportedSegment) as error:
            assert self.path.name in str(error)
            return Outcome.REFUSED_START
        if not manager.online_directories:
            return Outcome.OFFLINE
        outcomes = {self.partition(manager, index) for index in (0, 1)}
        ends = [log.log_end_offset for _, log in sorted(manager.all(), key=str)]
        manager.close(broker_epoch=2, now_ms=NOW_MS, threads_per_directory=1)
        manager = open_directory(disk)
        assert [log.log_end_offset for _, log in sorted(manager.all(), key=str)] == ends, "a restart changed it"
        return max(outcomes, key=list(Outcome).index)

    def partition(self, manager: LogManager, index: int) -> Outcome:
        log = manager.get("t", index)
        assert log is not None
        expected = self.written.answers[index]
        is_damaged = self.is_records and self.path.parent.name == f"t-{index}"
        refused: list[int] = []
        served = dict(read_all(log, starts=tuple(expected.batches), refused=refused))
        appended = self.written.appended[index]
        wrong = {offset for offset, content in served.items() if not is_alike(content, appended.get(offset))}
        assert not wrong, f"wrong batches at {wrong}"
        has_other_epoch = any(content != appended[offset] for offset, content in served.items())
        missing = set(expected.batches) - set(served)
        end = log.log_end_offset
        if is_damaged:
            safe = self.sound_before_damage(expected, appended)
            assert not safe & missing, f"sound batches at {safe & missing} are lost"
            assert end <= expected.end
        elif log.log_start_offset != expected.start:
            assert self.path.name == "log-start-offset-checkpoint"
            assert log.log_start_offset < end or end == expected.end
            return Outcome.BELIEVED
        else:
            differing = {name for name, a, b in zip(Answers._fields, ask(log), expected, strict=True) if a != b}
            if differing:
                assert differing <= self.believed(), f"{', '.join(differing)} changed"
                return Outcome.BELIEVED
            if index == 0:
                again = log.append_as_leader(self.written.last_of_producer, leader_epoch=5, now_ms=NOW_MS)
                assert again.is_duplicate
        # As after any start; it takes epochs back that damage has made too large.
        log.assign_leader_epoch(6)
        info = log.append_as_leader(batch(1, 160), leader_epoch=6, now_ms=NOW_MS)
        assert info.first_offset == end
        log.update_high_watermark(log.log_end_offset)
        assert dict(read_all(log, starts=(*expected.batches, end)))[end]
        if not missing:
            return Outcome.BELIEVED if has_other_epoch else Outcome.UNHARMED
        if end < expected.end:
            return Outcome.CUT
        return Outcome.REFUSED_READ if refused else Outcome.GAP

    def believed(self) -> set[str]:
        """What may be wrong after this damage, because nothing in Kafka's files could tell."""
        if self.path.suffix == ".txnindex" and self.damage.name in ("cut to 0", "deleted"):
            return {"aborted"}
        return {"epochs"} if self.path.name == "leader-epoch-checkpoint" else set()

    def sound_before_damage(self, expected: Answers, appended: dict[int, bytes]) -> set[int]:
        base = int(self.path.stem)
        safe = {offset for offset in appended if offset < base}
        position = 0
        for offset, content in appended.items():
            if offset >= base:
                position += len(content)
                if position <= self.damage.position:
                    safe.add(offset)
        return safe & set(expected.batches)


WRITTEN = {"clean": write(is_clean=True), "killed": write(is_clean=False)}


def kind_of(path: Path) -> str:
    return next((kind for kind in OUTCOMES if path.name.endswith(kind)), path.name)


def files_of(state: str, kind: str) -> list[Path]:
    return [path for path in WRITTEN[state].disk.files() if path.name.endswith(kind)]


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("state", WRITTEN)
def test_damage_has_a_declared_outcome(state: str, kind: str) -> None:
    written = WRITTEN[state]
    allowed = OUTCOMES[kind][0 if state == "clean" else 1]
    paths = files_of(state, kind)
    assert bool(paths) == bool(allowed)
    wrong: list[str] = []
    seen: Counter[Outcome] = Counter()
    for path in paths:
        data = written.disk.files()[path]
        for damage in (*damages(data), *(batch_damages(data) if kind == ".log" else ())):
            try:
                outcome = Case(written, path, damage).outcome()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
                wrong.append(f"{path}: {damage.name}: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
            seen[outcome] += 1
            if outcome not in allowed:
                wrong.append(f"{path}: {damage.name}: {outcome.name}")
    print(state, kind, dict(seen))
    assert not wrong, f"{len(wrong)} cases:\n" + "\n".join(wrong[:40])


def test_every_file_of_a_partition_and_its_directory_is_in_the_matrix() -> None:
    for written in WRITTEN.values():
        assert {kind_of(path) for path in written.disk.files()} <= set(OUTCOMES)
