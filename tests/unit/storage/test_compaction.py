from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.cleaners import due
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.record_batch import batch_records, crc_is_valid, iterate_headers
from ottla.protocol.records import CorruptRecords
from ottla.storage.cleaning.job import CleanedSegment, CleaningJob, CleaningLimits, PassEnd
from ottla.storage.compaction import compact, is_due, run_here, survey
from ottla.storage.errors import StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.log import Log
from ottla.storage.segment_list import TAKEN_AT_ONCE_MAX

NOW_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
COMPACT = {"cleanup_policy": frozenset({"compact"}), "min_cleanable_dirty_ratio": 0.0}

Pairs = list[tuple[bytes | None, bytes | None]]


def append(log: Log, pairs: Pairs, **settings: object) -> None:
    builder = BatchBuilder(**settings)  # type: ignore[arg-type]
    for key, value in pairs:
        builder.append(key, value, timestamp_ms=NOW_MS)
    log.append_own_as_leader(bytes(builder.build()), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def contents(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    found: list[tuple[int, bytes | None, bytes | None]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(
            offset, 1 << 20, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True
        )
        for position, header in iterate_headers(read.records):
            assert crc_is_valid(read.records, header, position)
            if not header.is_control:
                records = batch_records(read.records, header, position)
                found += [(header.base_offset + record.offset_delta, record.key, record.value) for record in records]
        offset = read.next_offset
    return found


def clean(
    log: Log, disk, first_dirty_offset: int = 0, now_ms: int = NOW_MS, limits: CleaningLimits | None = None
) -> int:
    cleanable = due(log, first_dirty_offset, now_ms)
    assert cleanable is not None
    return compact(log, disk, cleanable, now_ms, limits=limits).clean_to


def room_for(keys: int) -> CleaningLimits:
    """Memory for so many keys: entries of 24 bytes, of which one stays free."""
    return CleaningLimits(dedupe_buffer_bytes=24 * (keys + 1), load_factor=1.0)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_the_latest_value_of_each_key_stays_at_its_offset(open_log, disk, codec: Codec) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")], codec=codec)
    append(log, [(b"a", b"2")], codec=codec)
    log.roll(NOW_MS)
    append(log, [(b"b", b"2"), (b"a", b"3")], codec=codec)
    log.roll(NOW_MS)
    append(log, [(b"c", b"active")])
    assert clean(log, disk) == 6
    assert contents(log) == [(2, b"c", b"1"), (4, b"b", b"2"), (5, b"a", b"3"), (6, b"c", b"active")]
    assert len(log.segments) == 2, "neighbours are merged"
    assert {h.codec for _, h in iterate_headers(log.segments[0].path.read_bytes())} == {codec}


def test_every_offset_can_still_be_asked_for(open_log, disk) -> None:
    log = open_log(index_interval_bytes=0, **COMPACT)
    for number in range(30):
        append(log, [(b"k%d" % (number % 3), b"%d" % number)])
    log.roll(NOW_MS)
    clean(log, disk)
    expected = [27, 28, 29]
    for offset in range(30):
        read = log.read(offset, 1, max_offset_exclusive=30, min_one_batch=True, allow_blocking=True)
        (_, header), *_ = iterate_headers(read.records)
        assert header.base_offset == next(o for o in expected if o >= offset)


def test_a_second_pass_begins_where_the_first_ended(open_log, disk) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1"), (b"b", b"1")])
    log.roll(NOW_MS)
    clean_to = clean(log, disk)
    assert due(log, clean_to, NOW_MS) is None
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    assert clean(log, disk, clean_to) == 3
    assert contents(log) == [(1, b"b", b"1"), (2, b"a", b"2")]


def test_placeholders_of_an_earlier_pass_go_with_a_later_one(open_log, disk) -> None:
    log = open_log(**COMPACT)
    for number in range(3):
        append(log, [(b"a", b"%d" % number)])
        log.roll(NOW_MS)
        clean(log, disk)
    assert contents(log) == [(2, b"a", b"2")]
    assert len(list(iterate_headers(log.segments[0].path.read_bytes()))) == 1


def test_tombstones_stay_for_their_time_and_then_go(open_log, disk) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1"), (b"b", b"1")])
    append(log, [(b"a", None)])
    log.roll(NOW_MS)
    clean(log, disk)
    assert contents(log) == [(1, b"b", b"1"), (2, b"a", None)]
    for later_ms, gone in ((NOW_MS + DAY_MS - 1, False), (NOW_MS + DAY_MS, True)):
        append(log, [(b"x", b"%d" % later_ms)])
        log.roll(NOW_MS)
        clean(log, disk, log.log_end_offset - 1, later_ms)
        assert ((2, b"a", None) not in contents(log)) == gone


def test_the_tombstones_of_an_idle_log_stay_as_in_kafka(open_log, disk) -> None:
    log = open_log(delete_retention_ms=0, **COMPACT)
    append(log, [(b"a", b"1"), (b"a", None)])
    log.roll(NOW_MS)
    clean(log, disk)
    assert not is_due(survey(log, log.log_end_offset, NOW_MS + 365 * DAY_MS), log.config)
    assert contents(log) == [(1, b"a", None)]


def test_records_without_a_key_do_not_survive(open_log, disk) -> None:
    log = open_log(**COMPACT)
    append(log, [(None, b"1"), (b"a", b"1")])
    log.roll(NOW_MS)
    clean(log, disk)
    assert contents(log) == [(1, b"a", b"1")]


def test_a_producers_last_sequence_survives_in_an_empty_batch(open_log, disk) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1")], producer_id=5, producer_epoch=0, base_sequence=0)
    append(log, [(b"a", b"2")], producer_id=6, producer_epoch=0, base_sequence=0)
    append(log, [(b"a", b"3")], producer_id=6, producer_epoch=0, base_sequence=1)
    log.roll(NOW_MS)
    clean(log, disk)
    headers = [h for _, h in iterate_headers(log.segments[0].path.read_bytes())]
    assert [(h.producer_id, h.base_offset, h.record_count) for h in headers] == [(5, 0, 0), (6, 2, 1)]
    log.close(NOW_MS)
    log = open_log(**COMPACT)
    assert sorted((p.producer_id, p.last_sequence) for p in log.producer_states()) == [(5, 0), (6, 1)]


def test_aborted_records_go_and_do_not_supersede(open_log, disk) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"kept")])
    append(log, [(b"a", b"void")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    for is_commit, producer_id in ((False, 5),):
        marker = end_txn_batch(
            producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=NOW_MS
        )
        log.append_own_as_leader(marker, leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)
    log.roll(NOW_MS)
    clean(log, disk)
    assert contents(log) == [(0, b"a", b"kept")]
    headers = [h for _, h in iterate_headers(log.segments[0].path.read_bytes())]
    assert headers[-1].is_control, "the marker stays"


def test_an_open_transaction_is_not_compacted(open_log) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.roll(NOW_MS)
    assert due(log, 0, NOW_MS) is None


def test_young_records_wait_for_the_lag(open_log) -> None:
    log = open_log(min_compaction_lag_ms=1000, **COMPACT)
    append(log, [(b"a", b"1")])
    log.roll(NOW_MS)
    assert due(log, 0, NOW_MS + 999) is None
    assert due(log, 0, NOW_MS + 1001) is not None


def test_the_dirty_ratio_decides_unless_the_lag_is_over(open_log, disk) -> None:
    settings = {"cleanup_policy": frozenset({"compact"}), "max_compaction_lag_ms": 5000}
    log = open_log(**settings)
    for number in range(4):
        append(log, [(b"k%d" % number, b"v")])
        log.roll(NOW_MS)
    assert due(log, 3, NOW_MS) is None
    cleanable = due(log, 1, NOW_MS)
    assert cleanable is not None
    assert cleanable.dirty_ratio == 0.75
    overdue = due(log, 3, NOW_MS + 5001)
    assert overdue is not None
    assert overdue.is_overdue


def test_the_active_segment_is_never_compacted(open_log) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    assert due(log, 0, NOW_MS) is None


def test_a_checkpoint_past_the_end_starts_over(open_log) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1")])
    log.roll(NOW_MS)
    cleanable = due(log, 1000, NOW_MS)
    assert cleanable is not None
    assert cleanable.first_dirty_offset == 0


def test_a_log_cut_back_meanwhile_is_left_alone(open_log, disk, tmp_path: Path) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1")])
    log.roll(NOW_MS)
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    cleanable = due(log, 0, NOW_MS)
    assert cleanable is not None
    stale = log.segments
    original = log.replace_segments

    def replace(*args):
        log.truncate_to(1, NOW_MS)
        return original(*args)

    log.replace_segments = replace
    assert compact(log, disk, cleanable, NOW_MS).clean_to == 0
    assert stale[0] in log.segments
    assert contents(log) == [(0, b"a", b"1")]
    assert not list((tmp_path / "t-0").glob("*.cleaned"))


class Killed(BaseException):
    """The process ends."""


@pytest.mark.parametrize("is_killed", [True, False])
@pytest.mark.parametrize("change", ["truncated", "emptied", "shortened"])
def test_what_is_taken_away_while_a_new_segment_waits_for_the_disk_does_not_come_back(
    open_log, disk, monkeypatch, change: str, is_killed: bool
) -> None:
    settings = {**COMPACT, "cleanup_policy": frozenset({"compact", "delete"})}
    log = open_log(**settings)
    for number in range(4):
        append(log, [(b"k%d" % number, b"1")])
        log.roll(NOW_MS)
    log.flush(NOW_MS)
    cleanable = survey(log, 0, NOW_MS)
    sync_directory = disk.sync_directory

    def interrupted(path: Path) -> None:
        sync_directory(path)
        monkeypatch.undo()
        if change == "truncated":
            log.truncate_to(1, NOW_MS)
        elif change == "emptied":
            log.truncate_fully_and_start_at(3, NOW_MS)
        else:
            log.delete_segments_before(2, NOW_MS)
        if is_killed:
            raise Killed

    monkeypatch.setattr(disk, "sync_directory", interrupted)
    with pytest.raises(Killed) if is_killed else nullcontext():
        assert compact(log, disk, cleanable, NOW_MS).statistics is None
    expected = {"truncated": [0], "emptied": [], "shortened": [2, 3]}[change]
    log.abandon()
    again = open_log(recovery_point=log.recovery_point, **settings)
    assert [offset for offset, _, _ in contents(again)] == expected


@pytest.mark.parametrize("step", range(40))
def test_a_crash_at_any_step_leaves_the_old_or_the_new_records(open_log, disk, monkeypatch, step: int) -> None:
    """Everything that touches names fails from one step on; then the log is opened as after a crash."""
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1"), (b"b", b"1")])
    log.roll(NOW_MS)
    append(log, [(b"a", b"2"), (b"c", b"1")])
    log.roll(NOW_MS)
    append(log, [(b"d", b"1")])
    log.flush(NOW_MS)
    before = contents(log)
    cleanable = due(log, 0, NOW_MS)
    assert cleanable is not None
    steps = 0

    def counting(method):
        def call(*args, **kwargs):
            nonlocal steps
            steps += 1
            if steps > step:
                raise StorageError(disk.root, "do", disk.root, "crash")
            return method(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("rename", "remove", "write_file", "sync_directory", "open"):
            patch.setattr(disk, name, counting(getattr(disk, name)))
        crashed = False
        try:
            compact(log, disk, cleanable, NOW_MS)
        except StorageError:
            crashed = True
    log.abandon()
    log = open_log(recovery_point=5, **COMPACT)
    after = [record for record in before if record[0] != 0]
    assert contents(log) in ((before, after) if crashed else (after,))
    append(log, [(b"e", b"1")])


def test_a_segment_with_more_keys_than_a_pass_remembers_takes_several_passes(open_log, disk) -> None:
    log = open_log(**COMPACT)
    for number in range(60):
        append(log, [(b"k%d" % (number % 30), b"%d" % number), (b"same", b"%d" % number)])
    log.roll(NOW_MS)
    clean_to = 0
    passes = 0
    while due(log, clean_to, NOW_MS) is not None:
        before, clean_to = clean_to, clean(log, disk, clean_to, limits=room_for(10))
        assert before < clean_to <= before + 19, "each pass comes further, by nine keys and the one of all batches"
        passes += 1
        latest = {key: value for _, key, value in contents(log)}
        assert latest == {b"same": b"59", **{b"k%d" % (number % 30): b"%d" % number for number in range(30, 60)}}
    assert passes > 5
    assert clean_to == 120
    assert len(contents(log)) == 31


def test_a_tombstone_that_a_full_pass_did_not_reach_stays_until_its_key_is_gone(open_log, disk) -> None:
    log = open_log(delete_retention_ms=0, **COMPACT)
    append(log, [(b"doomed", b"1")])
    for number in range(12):
        append(log, [(b"k%d" % number, b"1")])
    append(log, [(b"doomed", None)])
    log.roll(NOW_MS)
    clean_to = 0
    for later_ms in range(1, 10):
        cleanable = due(log, clean_to, NOW_MS + later_ms)
        if cleanable is not None:
            clean_to = compact(log, disk, cleanable, NOW_MS + later_ms, limits=room_for(4)).clean_to
        found = {key: value for _, key, value in contents(log)}
        assert found.get(b"doomed", None if clean_to >= 14 else b"gone too early") is None


def test_a_damaged_batch_is_not_given_a_new_checksum(open_log, disk) -> None:
    log = open_log(**COMPACT)
    append(log, [(b"a", b"1"), (b"b", b"1")])
    log.roll(NOW_MS)
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    path = log.segments[0].path
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptRecords, match="checksum of the batch at offset 0"):
        clean(log, disk)
    assert path.read_bytes() == data


def test_the_lag_is_over_for_the_first_batch_of_a_segment(open_log) -> None:
    log = open_log(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=5000, min_cleanable_dirty_ratio=1.0)
    append(log, [(b"a", b"1")])
    log.append_own_as_leader(bytes(_later(4000).build()), leader_epoch=0, now_ms=NOW_MS + 4000)
    log.update_high_watermark(log.log_end_offset)
    log.roll(NOW_MS)
    log.segments[0].rolling_timestamp = None
    assert due(log, 0, NOW_MS + 5000) is None
    cleanable = due(log, 0, NOW_MS + 5001)
    assert cleanable is not None
    assert cleanable.delay_ms == 1


def _later(milliseconds: int) -> BatchBuilder:
    builder = BatchBuilder()
    builder.append(b"b", b"1", timestamp_ms=NOW_MS + milliseconds)
    return builder


def test_new_segments_are_as_old_as_the_last_of_their_sources(open_log, disk) -> None:
    log = open_log(**COMPACT)
    for number in range(2):
        append(log, [(b"a", b"1")])
        log.roll(NOW_MS)
        disk.set_modified_ms(log.segments[number].path, 1_000_000_000_000 + number)
    clean(log, disk)
    assert log.segments[0].modified_ms == 1_000_000_000_001


def test_segments_whose_indexes_do_not_fit_together_stay_apart(open_log, disk) -> None:
    log = open_log(index_interval_bytes=0, segment_index_bytes=100, **COMPACT)
    for _ in range(4):
        for number in range(6):
            append(log, [(b"k%d" % number, b"1")])
        log.roll(NOW_MS)
    clean(log, disk)
    # Each has five entries of eight bytes in its offset index: two fit together.
    assert [segment.base_offset for segment in log.segments] == [0, 12, 24]


def test_markers_and_index_entries_go_after_the_records_of_their_transactions(open_log, disk) -> None:
    log = open_log(**COMPACT, producer_id_expiration_ms=1)
    for producer_id, is_commit in ((5, True), (6, False)):
        settings = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
        append(log, [(b"a", b"%d" % producer_id)], **settings)
        marker = end_txn_batch(
            producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=NOW_MS
        )
        log.append_own_as_leader(marker, leader_epoch=0, now_ms=NOW_MS)
    append(log, [(b"a", b"last")])
    log.roll(NOW_MS)
    log.expire_producers(NOW_MS + DAY_MS)

    def left() -> list[tuple[int, bool, int]]:
        headers = [header for _, header in iterate_headers(log.segments[0].path.read_bytes())]
        return [(h.base_offset, h.is_control, h.delete_horizon_ms or 0) for h in headers]

    clean_to = clean(log, disk)
    assert left() == [(1, True, 0), (3, True, 0), (4, False, 0)]
    assert [entry.producer_id for entry in log.segments[0].transaction_index.entries] == [6]
    for later_ms, expected in (
        (0, [(1, True, NOW_MS + DAY_MS), (3, True, NOW_MS + DAY_MS)]),
        (DAY_MS - 1, [(1, True, NOW_MS + DAY_MS), (3, True, NOW_MS + DAY_MS)]),
        (DAY_MS, []),
    ):
        append(log, [(b"x", b"1")])
        log.roll(NOW_MS)
        clean_to = clean(log, disk, clean_to, NOW_MS + later_ms)
        assert [row for row in left() if row[1]] == expected
        assert log.segments[0].transaction_index.entries == []


def test_a_log_that_is_compacted_and_deleted_loses_old_segments_with_their_latest_values(open_log, disk) -> None:
    settings = COMPACT | {"cleanup_policy": frozenset({"compact", "delete"})}
    log = open_log(retention_ms=DAY_MS, segment_bytes=100, **settings)
    for number in range(3):
        append(log, [(b"k%d" % number, b"v")])
        log.roll(NOW_MS)
    clean_to = clean(log, disk)
    assert len(contents(log)) == 3
    assert log.delete_old_segments(NOW_MS + DAY_MS) == 0
    assert log.delete_old_segments(NOW_MS + DAY_MS + 1) == 3
    assert contents(log) == []
    append(log, [(b"a", b"1")])
    append(log, [(b"a", b"2")])
    log.roll(NOW_MS)
    assert clean(log, disk, clean_to) == 5
    assert contents(log) == [(4, b"a", b"2")]


def test_many_small_segments_are_replaced_a_few_at_a_time_so_that_no_append_waits_long(open_log, disk) -> None:
    log = open_log(**COMPACT)
    count = 2 * TAKEN_AT_ONCE_MAX + 1
    for number in range(count):
        append(log, [(b"k%d" % (number % 3), b"%d" % number)])
        log.roll(NOW_MS)
    cleanable = survey(log, 0, NOW_MS)
    counts: list[int] = []

    def watched(job: CleaningJob, file_system: FileSystem) -> Generator[CleanedSegment | PassEnd, None, None]:
        for step in run_here(job, file_system):
            if isinstance(step, CleanedSegment):
                counts.append(step.source_count)
            yield step

    compact(log, disk, cleanable, NOW_MS, watched)
    assert counts == [TAKEN_AT_ONCE_MAX, TAKEN_AT_ONCE_MAX, 1]
    assert [value for _, _, value in contents(log)] == [b"%d" % number for number in range(count - 3, count)]
    # The next pass goes on with what this one made of them.
    append(log, [(b"k0", b"new")])
    log.roll(NOW_MS)
    clean(log, disk, cleanable.end_offset)
    assert len(log.segments) == 2
