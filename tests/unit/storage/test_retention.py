import logging
import os

import pytest

from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.segment import Segment
from ottla.storage.segment_list import TAKEN_AT_ONCE_MAX, SegmentList

NOW_MS = 1_700_000_000_000
HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS


def fill(log: Log, make_batch, stamps: list[int]) -> None:
    """One segment for each timestamp."""
    for stamp in stamps:
        log.roll(NOW_MS)
        log.append_as_leader(make_batch(2, timestamp_ms=stamp), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_segments_go_when_their_latest_record_is_too_old(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS - 2, NOW_MS - HOUR_MS, NOW_MS])
    assert log.delete_old_segments(NOW_MS) == 2
    assert bases(log) == [4, 6]
    assert log.log_start_offset == 4


def test_what_goes_is_told_with_its_reasons(open_log, make_batch, caplog: pytest.LogCaptureFixture) -> None:
    size = len(make_batch(2))
    log = open_log(retention_ms=HOUR_MS, retention_bytes=size)
    fill(log, make_batch, [1, 1, NOW_MS, NOW_MS])
    log.increment_log_start_offset(2)
    with caplog.at_level(logging.INFO):
        log.delete_old_segments(NOW_MS)
        log.delete_old_segments(NOW_MS)
    reasons = f"their records were deleted, retention.ms={HOUR_MS}, retention.bytes={size}"
    name = log.directory.name
    assert caplog.messages == [
        f"{name}: deleted 3 segments with {3 * size} bytes ({reasons}); the log starts at offset 6"
    ]


def test_a_young_segment_protects_older_looking_ones_behind_it(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [NOW_MS, 1, NOW_MS])
    assert log.delete_old_segments(NOW_MS) == 0


def test_the_active_segment_is_rolled_before_it_goes(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [1, 1])
    assert log.delete_old_segments(NOW_MS) == 2
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([4], 4, 4)
    assert log.delete_old_segments(NOW_MS) == 0, "an empty active segment stays"


def test_size_keeps_at_least_what_is_configured(open_log, make_batch) -> None:
    size = len(make_batch(2))
    for retention_bytes, left in ((0, 0), (1, 1), (size, 1), (size + 1, 2), (3 * size, 3), (100 * size, 4)):
        log = open_log(retention_bytes=retention_bytes, retention_ms=-1)
        log.truncate_fully_and_start_at(0, NOW_MS)
        fill(log, make_batch, [NOW_MS] * 4)
        log.delete_old_segments(NOW_MS)
        assert log.size_bytes == left * size, retention_bytes
        log.abandon()


def test_nothing_above_the_high_watermark_goes(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [1])
    log.roll(NOW_MS)
    log.append_as_leader(make_batch(2, timestamp_ms=1), leader_epoch=0, now_ms=NOW_MS)
    assert log.delete_old_segments(NOW_MS) == 1
    assert bases(log) == [2]


def test_deleted_records_take_their_segments_whatever_the_policy(open_log, make_batch) -> None:
    log = open_log(cleanup_policy=frozenset({"compact"}), retention_ms=HOUR_MS)
    fill(log, make_batch, [1, 1, 1])
    assert log.delete_old_segments(NOW_MS) == 0, "a compacted topic keeps old records"
    log.increment_log_start_offset(3)
    assert log.delete_old_segments(NOW_MS) == 1
    assert bases(log) == [2, 4]


@pytest.mark.parametrize("settings", [{"retention_ms": -1}, {"retention_ms": -1, "retention_bytes": -1}])
def test_unlimited_retention_keeps_everything(open_log, make_batch, settings: dict[str, int]) -> None:
    log = open_log(**settings)
    fill(log, make_batch, [1, 1])
    assert log.delete_old_segments(NOW_MS) == 0


def test_records_without_a_time_age_with_their_file(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    log.append_as_leader(make_batch(1, timestamp_ms=-1), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(1)
    written_ms = log.segments[0].modified_ms
    assert log.delete_old_segments(written_ms + HOUR_MS - 1000) == 0
    assert log.delete_old_segments(written_ms + 2 * HOUR_MS) == 1


def test_leader_epochs_of_deleted_records_are_forgotten(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    for epoch in range(3):
        log.roll(NOW_MS)
        log.append_as_leader(make_batch(2, timestamp_ms=1 if epoch < 2 else NOW_MS), leader_epoch=epoch, now_ms=NOW_MS)
    log.update_high_watermark(6)
    log.delete_old_segments(NOW_MS)
    assert log.leader_epochs.entries == [(2, 4)]


def write(log: Log, make_batch, timestamp_ms: int, *, now_ms: int | None = None, value: bytes = b"v") -> None:
    """One batch as it is written at a time, replicated at once."""
    now_ms = timestamp_ms if now_ms is None else now_ms
    log.append_as_leader(make_batch(1, timestamp_ms=timestamp_ms, value=value), leader_epoch=0, now_ms=now_ms)
    log.update_high_watermark(log.log_end_offset)


def oldest_age_ms(log: Log, now_ms: int) -> int:
    found = log.offset_for_timestamp(0, log.log_end_offset)
    assert found is not None
    return now_ms - found.timestamp


def test_data_is_kept_for_retention_and_the_time_that_a_segment_takes_to_fill(open_log, make_batch) -> None:
    """A tenth of a segment a day, seven days of retention: up to seventeen days, and then a segment goes."""
    size = len(make_batch(1, value=b"v" * 1000))
    log = open_log(segment_bytes=10 * size, segment_ms=100 * DAY_MS, retention_ms=7 * DAY_MS)
    ages = []
    for day in range(60):
        now_ms = NOW_MS + day * DAY_MS
        write(log, make_batch, now_ms, value=b"v" * 1000)
        log.delete_old_segments(now_ms)
        ages.append(oldest_age_ms(log, now_ms) // DAY_MS)
    assert max(ages) == 16, "with the record of today, seventeen days are there"
    assert min(ages[20:]) == 7, "what goes is never younger than retention.ms"


def test_a_segment_that_lives_longer_than_retention_keeps_its_data_as_long(open_log, make_batch) -> None:
    """A day of retention, but segments of five days: nothing goes before its segment is closed and a day old."""
    log = open_log(segment_ms=5 * DAY_MS, retention_ms=DAY_MS)
    ages = []
    for hour in range(24 * 20):
        now_ms = NOW_MS + hour * HOUR_MS
        write(log, make_batch, now_ms)
        log.delete_old_segments(now_ms)
        ages.append(oldest_age_ms(log, now_ms))
    assert 5 * DAY_MS < max(ages) <= 6 * DAY_MS + HOUR_MS


def test_size_is_a_limit_of_each_partition(disk, make_batch) -> None:
    """Eight partitions of at most so many bytes each hold eight times as much."""
    size = len(make_batch(1))
    logs = []
    for partition in range(8):
        config = LogConfig(segment_bytes=size, retention_bytes=4 * size, retention_ms=-1)
        logs.append(Log(disk, disk.root / f"t-{partition}", config, now_ms=NOW_MS))
        for _ in range(10):
            logs[-1].append_as_leader(make_batch(1), leader_epoch=0, now_ms=NOW_MS)
        logs[-1].update_high_watermark(10)
        logs[-1].delete_old_segments(NOW_MS)
    assert sum(log.size_bytes for log in logs) == 8 * 4 * size


def test_time_and_size_apply_both_whichever_comes_first(open_log, make_batch) -> None:
    size = len(make_batch(2))
    log = open_log(retention_ms=HOUR_MS, retention_bytes=2 * size)
    fill(log, make_batch, [1, NOW_MS, NOW_MS, NOW_MS])
    log.delete_old_segments(NOW_MS)
    assert bases(log) == [4, 6], "one for its age, one for the size"
    log.delete_old_segments(NOW_MS + 2 * HOUR_MS)
    assert log.size_bytes == 0


def test_an_idle_active_segment_goes_when_its_last_record_does(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    write(log, make_batch, NOW_MS)
    assert log.delete_old_segments(NOW_MS + HOUR_MS) == 0
    assert log.delete_old_segments(NOW_MS + HOUR_MS + 1) == 1
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)


def test_an_empty_cleanup_policy_keeps_all_but_deleted_records(open_log, make_batch) -> None:
    log = open_log(cleanup_policy=frozenset(), retention_ms=1, retention_bytes=0)
    fill(log, make_batch, [1, 1])
    assert log.delete_old_segments(NOW_MS) == 0
    log.increment_log_start_offset(2)
    assert log.delete_old_segments(NOW_MS) == 1


def test_retention_of_a_compacted_topic_that_also_deletes(open_log, make_batch) -> None:
    log = open_log(cleanup_policy=frozenset({"compact", "delete"}), retention_ms=HOUR_MS)
    fill(log, make_batch, [1, NOW_MS])
    assert log.delete_old_segments(NOW_MS) == 1


@pytest.mark.parametrize("was_clean", [True, False])
def test_the_latest_record_counts_after_a_restart_as_before(open_log, make_batch, was_clean: bool) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS, 1, NOW_MS])
    if was_clean:
        log.close(NOW_MS)
    else:
        log.abandon()
    log = open_log(retention_ms=HOUR_MS, was_clean=was_clean, recovery_point=8)
    log.update_high_watermark(8)
    assert log.delete_old_segments(NOW_MS) == 1
    assert bases(log) == [2, 4, 6], "the segment that looks old stands behind a younger one"


@pytest.mark.parametrize("damage", ["missing", "empty", "too early", "too late"])
def test_a_damaged_time_index_neither_keeps_nor_deletes(open_log, make_batch, damage: str) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS // 2, NOW_MS])
    log.close(NOW_MS)
    for base_offset in (0, 2):
        path = log.directory / f"{base_offset:020}.timeindex"
        entry = path.read_bytes()
        if damage == "missing":
            path.unlink()
        else:
            shift_ms = {"too early": -5 * HOUR_MS, "too late": 5 * HOUR_MS}.get(damage)
            stamp = 0 if shift_ms is None else int.from_bytes(entry[:8], "big") + shift_ms
            path.write_bytes(b"" if shift_ms is None else stamp.to_bytes(8, "big") + entry[8:])
    log = open_log(retention_ms=HOUR_MS, was_clean=True, recovery_point=6)
    log.update_high_watermark(6)
    log.delete_old_segments(NOW_MS)
    assert bases(log) == [2, 4]


def test_records_without_a_time_age_with_their_file_after_a_restart_too(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    fill(log, make_batch, [-3, -3, NOW_MS])
    log.close(NOW_MS)
    old_s = (NOW_MS - 2 * HOUR_MS) / 1000
    os.utime(log.segments[0].path, (old_s, old_s))
    log = open_log(retention_ms=HOUR_MS, was_clean=True, recovery_point=6)
    log.update_high_watermark(6)
    assert log.delete_old_segments(NOW_MS) == 1
    assert bases(log) == [2, 4], "the second file was written just now"


def test_a_clock_that_goes_back_deletes_nothing_early(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS)
    write(log, make_batch, NOW_MS)
    write(log, make_batch, NOW_MS - DAY_MS)
    assert log.delete_old_segments(NOW_MS - DAY_MS + 2 * HOUR_MS) == 0
    assert log.delete_old_segments(NOW_MS + 2 * HOUR_MS) == 1


YEAR_MS = 365 * DAY_MS


def test_a_record_of_the_far_future_keeps_its_segment_and_is_told_once(open_log, make_batch, caplog) -> None:
    log = open_log(retention_ms=HOUR_MS, message_timestamp_after_max_ms=100 * YEAR_MS)
    fill(log, make_batch, [1, NOW_MS + YEAR_MS, 1, NOW_MS])
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            log.delete_old_segments(NOW_MS)
    assert bases(log) == [2, 4, 6]
    (told,) = caplog.messages
    for part in ("00000000000000000002.log", "2024-11-13T22:13:20", "ottla records delete t:0 --before 4", "after.max"):
        assert part in told
    found = log.future_timestamps.found
    assert found is not None
    assert (found.timestamp_ms, found.offset) == (NOW_MS + YEAR_MS + 1, 3)


def test_the_remedy_for_a_record_of_the_future_works(open_log, make_batch) -> None:
    log = open_log(retention_ms=HOUR_MS, message_timestamp_after_max_ms=100 * YEAR_MS)
    fill(log, make_batch, [NOW_MS + YEAR_MS, 1, NOW_MS])
    log.delete_old_segments(NOW_MS)
    found = log.future_timestamps.found
    assert found is not None
    log.increment_log_start_offset(found.offset + 1)
    assert log.delete_old_segments(NOW_MS) == 2
    assert (bases(log), log.future_timestamps.found) == ([4], None)


def test_a_future_that_is_not_far_or_does_not_matter_is_not_told(open_log, make_batch, caplog) -> None:
    for settings, stamp in (
        ({"retention_ms": HOUR_MS}, NOW_MS + HOUR_MS - 10),
        ({"retention_ms": -1}, NOW_MS + YEAR_MS),
        ({"cleanup_policy": frozenset({"compact"})}, NOW_MS + YEAR_MS),
    ):
        log = open_log(message_timestamp_after_max_ms=100 * YEAR_MS, **settings)
        log.truncate_fully_and_start_at(0, NOW_MS)
        fill(log, make_batch, [stamp])
        with caplog.at_level(logging.WARNING):
            log.delete_old_segments(NOW_MS)
        log.abandon()
    assert caplog.messages == []


def test_a_time_that_no_calendar_has_is_told_as_a_number(open_log, make_batch, caplog) -> None:
    log = open_log(retention_ms=HOUR_MS, message_timestamp_after_max_ms=2**63 - 1)
    fill(log, make_batch, [2**62])
    with caplog.at_level(logging.WARNING):
        log.delete_old_segments(NOW_MS)
    assert str(2**62 + 1) in caplog.text


def test_many_segments_go_a_few_at_a_time_so_that_no_append_waits_long(open_log, make_batch, monkeypatch) -> None:
    log = open_log(retention_ms=1000)
    fill(log, make_batch, [NOW_MS] * (2 * TAKEN_AT_ONCE_MAX + 1))
    counts: list[int] = []
    drop = SegmentList.drop

    def counted(segments: SegmentList, doomed: list[Segment], *arguments: int) -> None:
        counts.append(len(doomed))
        drop(segments, doomed, *arguments)

    monkeypatch.setattr(SegmentList, "drop", counted)
    assert log.delete_old_segments(NOW_MS + 5000) == 2 * TAKEN_AT_ONCE_MAX + 1
    assert max(counts) == TAKEN_AT_ONCE_MAX
    assert len(log.segments) == 1
