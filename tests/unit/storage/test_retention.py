import pytest

from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000
HOUR_MS = 3600 * 1000


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
