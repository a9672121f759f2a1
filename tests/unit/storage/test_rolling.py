"""When a segment is followed by another."""

from dataclasses import replace

import pytest

from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000
HOUR_MS = 3600 * 1000


def append(log: Log, batch: bytes, now_ms: int = NOW_MS) -> None:
    log.append_as_leader(batch, leader_epoch=0, now_ms=now_ms)


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_size_or_age_whichever_comes_first(open_log, make_batch) -> None:
    log = open_log(segment_bytes=2 * len(make_batch(1)), segment_ms=HOUR_MS)
    for stamp in (0, 1, 2, HOUR_MS + 3, HOUR_MS + 4):
        append(log, make_batch(1, timestamp_ms=NOW_MS + stamp), NOW_MS + stamp)
    assert bases(log) == [0, 2, 3]


def jitters(log: Log, make_batch, count: int) -> list[int]:
    """How much earlier than segment.ms each of the next segments is rolled."""
    found = []
    for _ in range(count):
        start_ms = NOW_MS + log.log_end_offset * 10 * HOUR_MS
        log.roll(start_ms)
        active = log.segments[-1]
        append(log, make_batch(1, timestamp_ms=start_ms), start_ms)
        waited_ms = 0
        while log.segments[-1] is active:
            waited_ms += HOUR_MS // 100
            append(log, make_batch(1, timestamp_ms=start_ms + waited_ms), start_ms + waited_ms)
        found.append(HOUR_MS - waited_ms)
    return found


def test_each_segment_has_a_jitter_of_its_own(open_log, make_batch) -> None:
    log = open_log(segment_ms=HOUR_MS, segment_jitter_ms=HOUR_MS // 2)
    found = jitters(log, make_batch, 12)
    assert len(set(found)) > 6
    assert all(-HOUR_MS // 100 <= jitter_ms <= HOUR_MS // 2 for jitter_ms in found)


def test_the_jitter_of_a_segment_does_not_change_with_a_restart(open_log, make_batch) -> None:
    settings = {"segment_ms": HOUR_MS, "segment_jitter_ms": HOUR_MS}
    rolled = []
    for restarts in (False, True):
        log = open_log(**settings)
        log.truncate_fully_and_start_at(0, NOW_MS)
        append(log, make_batch(1, timestamp_ms=NOW_MS))
        while len(log.segments) == 1:
            if restarts:
                log.close(NOW_MS)
                log = open_log(**settings, was_clean=True)
            append(log, make_batch(1, timestamp_ms=NOW_MS + log.log_end_offset * (HOUR_MS // 20)))
        rolled.append(bases(log))
        log.close(NOW_MS)
    assert rolled[0] == rolled[1]


def test_a_jitter_longer_than_the_age_counts_up_to_the_age(open_log, make_batch) -> None:
    log = open_log(segment_ms=HOUR_MS, segment_jitter_ms=100 * HOUR_MS)
    assert all(jitter_ms <= HOUR_MS for jitter_ms in jitters(log, make_batch, 5))


def test_a_compacted_log_rolls_in_time_for_its_largest_lag(open_log, make_batch) -> None:
    for policy, expected in ((frozenset({"compact"}), [0, 1]), (frozenset({"delete"}), [0])):
        log = open_log(cleanup_policy=policy, segment_ms=10 * HOUR_MS, max_compaction_lag_ms=HOUR_MS)
        log.truncate_fully_and_start_at(0, NOW_MS)
        append(log, make_batch(1, timestamp_ms=NOW_MS))
        append(log, make_batch(1, timestamp_ms=NOW_MS + HOUR_MS + 1), NOW_MS + HOUR_MS)
        assert bases(log) == expected
        log.abandon()


@pytest.mark.parametrize("timestamp_ms", [-1, -500])
def test_a_segment_that_begins_without_a_time_ages_by_the_clock(open_log, make_batch, timestamp_ms: int) -> None:
    log = open_log(segment_ms=HOUR_MS)
    for now_ms in (NOW_MS, NOW_MS + HOUR_MS, NOW_MS + HOUR_MS + 1):
        append(log, make_batch(1, timestamp_ms=timestamp_ms), now_ms)
    assert bases(log) == [0, 2]


def test_old_records_and_a_clock_that_goes_back_do_not_roll(open_log, make_batch) -> None:
    log = open_log(segment_ms=HOUR_MS)
    for stamp in (NOW_MS, NOW_MS - 100 * HOUR_MS, 0, -1, NOW_MS):
        append(log, make_batch(1, timestamp_ms=stamp), NOW_MS - 5 * HOUR_MS + 5 * HOUR_MS * (stamp == NOW_MS))
    assert bases(log) == [0]


def test_the_age_of_a_segment_is_known_after_a_restart(open_log, make_batch) -> None:
    log = open_log(segment_ms=HOUR_MS)
    append(log, make_batch(1, timestamp_ms=NOW_MS))
    append(log, make_batch(1, timestamp_ms=NOW_MS + HOUR_MS // 2))
    log.close(NOW_MS)
    log = open_log(segment_ms=HOUR_MS, was_clean=True)
    append(log, make_batch(1, timestamp_ms=NOW_MS + HOUR_MS + 1), NOW_MS + HOUR_MS)
    assert bases(log) == [0, 2]


def test_an_empty_segment_is_never_too_old(open_log, make_batch) -> None:
    log = open_log(segment_ms=1)
    append(log, make_batch(1, timestamp_ms=NOW_MS + HOUR_MS // 2), NOW_MS + HOUR_MS // 2)
    assert bases(log) == [0]


@pytest.mark.parametrize("limit_bytes", [24, 40, 100, 101])
def test_no_index_file_exceeds_its_largest_size(open_log, make_batch, limit_bytes: int) -> None:
    log = open_log(index_interval_bytes=0, segment_index_bytes=limit_bytes)
    for number in range(60):
        append(log, make_batch(1, timestamp_ms=NOW_MS + number))
    assert len(log.segments) > 3
    log.close(NOW_MS)
    sizes = [path.stat().st_size for path in log.directory.iterdir() if path.suffix in (".index", ".timeindex")]
    assert max(sizes) <= limit_bytes


def test_new_settings_hold_from_the_next_append_or_segment_on(open_log, make_batch) -> None:
    log = open_log()
    for number in range(4):
        append(log, make_batch(1, timestamp_ms=NOW_MS + number))
    log.update_config(replace(log.config, segment_ms=2, index_interval_bytes=0))
    for number in range(4, 8):
        append(log, make_batch(1, timestamp_ms=NOW_MS + number))
    assert bases(log) == [0, 4, 7]
    assert [len(segment.offset_index) for segment in log.segments] == [0, 2, 0]
