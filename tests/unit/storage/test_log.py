from pathlib import Path

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import ControlType, control_batch, end_txn_batch
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import TimestampType, iterate_headers, parse_header
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import StorageError
from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000


def append(log: Log, batch: bytes, *, epoch: int = 0, now_ms: int = NOW_MS):
    info = log.append_as_leader(batch, leader_epoch=epoch, now_ms=now_ms)
    log.update_high_watermark(log.log_end_offset)
    return info


def offsets_in(log: Log) -> list[int]:
    """Every offset that a consumer gets from the start to the end."""
    found: list[int] = []
    offset = log.log_start_offset
    while offset < log.high_watermark:
        read = log.read(
            offset, 1 << 20, max_offset_exclusive=log.high_watermark, min_one_batch=True, allow_blocking=True
        )
        for _, header in iterate_headers(read.records):
            found += range(header.base_offset, header.next_offset)
        offset = read.next_offset
    return [offset for offset in found if offset >= log.log_start_offset]


# Appending.


def test_a_leader_gives_consecutive_offsets(open_log, make_batch) -> None:
    log = open_log()
    assert append(log, make_batch(3), epoch=4) == (0, 2, 4, NOW_MS + 2, -1, 0, False)
    assert append(log, make_batch(2), epoch=4).first_offset == 3
    assert log.log_end_offset == 5


def test_a_batch_is_stored_with_its_place_and_the_input_is_left_alone(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(3))
    batch = make_batch(2)
    original = bytes(batch)
    append(log, memoryview(batch).toreadonly(), epoch=7)
    assert batch == original
    read = log.read(3, 1000, max_offset_exclusive=5, min_one_batch=True)
    header = parse_header(read.records)
    assert (header.base_offset, header.leader_epoch) == (3, 7)
    assert bytes(read.records)[16:] == original[16:]


def test_a_full_disk_leaves_the_log_as_it_was(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(3))
    size = log.size_bytes
    for free_bytes in (0, 1, 50):
        disk.free_bytes = free_bytes
        with pytest.raises(StorageError) as failure:
            append(log, make_batch(3))
        assert failure.value.log_dir == disk.root
        assert (log.log_end_offset, log.size_bytes) == (3, size)
        assert log.segments[0].path.stat().st_size == size
    disk.free_bytes = None
    assert append(log, make_batch(3)).first_offset == 3
    assert offsets_in(log) == list(range(6))


def test_a_failed_append_does_not_count_for_the_producer(open_log, make_batch, disk) -> None:
    log = open_log()
    batch = make_batch(1, producer_id=5, producer_epoch=0, base_sequence=0)
    disk.free_bytes = 10
    with pytest.raises(StorageError):
        append(log, batch)
    disk.free_bytes = None
    assert not append(log, batch).is_duplicate


def test_a_followers_log_keeps_the_leaders_offsets_and_epochs(open_log, make_batch) -> None:
    log = open_log()
    batches = make_batch(2, base_offset=10, leader_epoch=3) + make_batch(1, base_offset=20, leader_epoch=4)
    info = log.append_as_follower(batches + make_batch(1, base_offset=21)[:70], now_ms=NOW_MS)
    assert info is not None
    assert (info.first_offset, info.last_offset, log.log_end_offset) == (10, 20, 21)
    assert log.leader_epochs.entries == [(3, 10), (4, 20)]
    with pytest.raises(CorruptRecords, match="20"):
        log.append_as_follower(make_batch(1, base_offset=20), now_ms=NOW_MS)


def test_a_follower_leaves_out_what_is_of_a_later_epoch_than_its_leaders(open_log, make_batch) -> None:
    log = open_log()
    batches = [make_batch(1, base_offset=offset, leader_epoch=epoch) for offset, epoch in enumerate((3, 4, 5, 4))]
    info = log.append_as_follower(b"".join(batches), now_ms=NOW_MS, leader_epoch=4)
    assert info is not None
    assert (info.last_offset, log.log_end_offset) == (1, 2)
    assert log.append_as_follower(batches[2], now_ms=NOW_MS, leader_epoch=4) is None


def test_an_empty_followers_log_starts_with_the_batch_in_which_its_leaders_log_starts(open_log, make_batch) -> None:
    log = open_log()
    log.truncate_fully_and_start_at(7, NOW_MS)
    assert log.append_as_follower(make_batch(10, base_offset=0), now_ms=NOW_MS) is not None
    assert (log.log_start_offset, log.log_end_offset) == (0, 10)
    with pytest.raises(CorruptRecords, match="in the log already"):
        log.append_as_follower(make_batch(10, base_offset=5), now_ms=NOW_MS)


def test_a_follower_refuses_damaged_batches_and_takes_nothing(open_log, make_batch) -> None:
    log = open_log()
    damaged = bytearray(make_batch(1, base_offset=0) + make_batch(1, base_offset=1))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecords, match="checksum"):
        log.append_as_follower(damaged, now_ms=NOW_MS)
    assert (log.log_end_offset, log.size_bytes) == (0, 0)
    assert log.append_as_follower(make_batch(1)[:40], now_ms=NOW_MS) is None


def test_several_own_batches_are_appended_at_once(open_log, make_batch) -> None:
    log = open_log(max_message_bytes=10)
    batches = control_batch(ControlType.LEADER_CHANGE, b"x", timestamp_ms=1) + make_batch(2) + make_batch(1)
    info = log.append_own_as_leader(batches, leader_epoch=2, now_ms=NOW_MS)
    assert (info.first_offset, info.last_offset) == (0, 3)
    log.update_high_watermark(4)
    read = log.read(0, 1 << 20, max_offset_exclusive=4, min_one_batch=True)
    assert [(h.base_offset, h.leader_epoch) for _, h in iterate_headers(read.records)] == [(0, 2), (1, 2), (3, 2)]


def test_records_too_large_for_a_segment_are_refused(open_log, make_batch) -> None:
    log = open_log(segment_bytes=100)
    with pytest.raises(ApiError) as refused:
        append(log, make_batch(10))
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE


def test_an_append_stamps_and_tells_the_time_where_the_topic_wants_it(open_log, make_batch) -> None:
    log = open_log(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    info = append(log, make_batch(2, timestamp_ms=5), now_ms=NOW_MS + 9)
    assert (info.max_timestamp, info.log_append_time_ms) == (NOW_MS + 9, NOW_MS + 9)


# Rolling.


def test_a_full_segment_is_followed_by_another(open_log, make_batch) -> None:
    size = len(make_batch(1))
    log = open_log(segment_bytes=3 * size)
    for _ in range(7):
        append(log, make_batch(1))
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]
    assert offsets_in(log) == list(range(7))


def test_a_segment_is_rolled_by_the_time_of_its_records(open_log, make_batch) -> None:
    log = open_log(segment_ms=1000)
    append(log, make_batch(1, timestamp_ms=NOW_MS))
    append(log, make_batch(1, timestamp_ms=NOW_MS + 1000))
    append(log, make_batch(1, timestamp_ms=NOW_MS + 1001))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_jitter_rolls_earlier_and_never_later(open_log, make_batch) -> None:
    log = open_log(segment_ms=1000, segment_jitter_ms=1000)
    append(log, make_batch(1, timestamp_ms=NOW_MS))
    append(log, make_batch(1, timestamp_ms=NOW_MS + 1000))
    append(log, make_batch(1, timestamp_ms=NOW_MS + 2001))
    assert len(log.segments) >= 2


def test_a_full_index_rolls_the_segment(open_log, make_batch) -> None:
    log = open_log(index_interval_bytes=0, segment_index_bytes=48)
    for number in range(12):
        append(log, make_batch(1, timestamp_ms=NOW_MS + number))
    assert len(log.segments) > 1
    assert all(len(segment.offset_index) * 8 <= 48 for segment in log.segments)


def test_an_offset_too_far_from_the_base_rolls_the_segment(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(1))
    log.append_as_follower(make_batch(1, base_offset=2**31 + 5), now_ms=NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 2**31 + 5]
    log.update_high_watermark(2**40)
    assert offsets_in(log) == [0, 2**31 + 5]


# Reading.


def test_an_offset_inside_a_batch_returns_the_whole_batch(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(5))
    append(log, make_batch(5))
    read = log.read(7, 10, max_offset_exclusive=10, min_one_batch=True)
    assert [header.base_offset for _, header in iterate_headers(read.records)] == [5]
    assert read.next_offset == 10


def test_a_limit_inside_a_batch_returns_the_batches_before_it(open_log, make_batch) -> None:
    log = open_log(index_interval_bytes=100)
    size = len(make_batch(1))
    for _ in range(20):
        append(log, make_batch(1))
    for count in range(1, 20):
        for extra in (0, size - 1):
            read = log.read(0, count * size + extra, max_offset_exclusive=20, min_one_batch=True)
            assert (len(read.records), read.next_offset) == (count * size, count)


def test_the_first_batch_comes_whole_or_not_at_all(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(50))
    assert len(log.read(0, 10, max_offset_exclusive=50, min_one_batch=True).records) == log.size_bytes
    read = log.read(0, 10, max_offset_exclusive=50, min_one_batch=False)
    assert (len(read.records), read.next_offset, read.is_cold) == (0, 0, False)


def test_nothing_at_or_above_the_bound_is_returned(open_log, make_batch) -> None:
    log = open_log(segment_bytes=1000)
    for _ in range(30):
        append(log, make_batch(2))
    for bound in range(0, 61, 2):
        offset = 0
        while offset < bound:
            read = log.read(offset, 1 << 20, max_offset_exclusive=bound, min_one_batch=True, allow_blocking=True)
            assert max(header.last_offset for _, header in iterate_headers(read.records)) < bound
            offset = read.next_offset
        assert offset == bound


def test_the_end_of_the_log_is_an_empty_read(open_log, make_batch) -> None:
    log = open_log()
    assert log.read(0, 100, max_offset_exclusive=0, min_one_batch=True) == (b"", 0, False)
    append(log, make_batch(2))
    assert log.read(2, 100, max_offset_exclusive=2, min_one_batch=True) == (b"", 2, False)


@pytest.mark.parametrize("offset", [-1, 0, 2, 6, 100])
def test_an_offset_outside_of_the_log_is_out_of_range(open_log, make_batch, offset: int) -> None:
    log = open_log()
    append(log, make_batch(5))
    log.increment_log_start_offset(3)
    with pytest.raises(ApiError) as refused:
        log.read(offset, 100, max_offset_exclusive=5, min_one_batch=True)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert "3" in refused.value.message


def test_cold_bytes_are_read_again_with_leave_to_wait(open_log, make_batch, disk) -> None:
    log = open_log()
    append(log, make_batch(2))
    disk.is_cold = True
    assert log.read(0, 100, max_offset_exclusive=2, min_one_batch=True).is_cold
    read = log.read(0, 100, max_offset_exclusive=2, min_one_batch=True, allow_blocking=True)
    assert (read.is_cold, read.next_offset) == (False, 2)


def test_a_segment_of_an_earlier_run_is_cold_at_first(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    for _ in range(4):
        append(log, make_batch(2))
    log.close(NOW_MS)
    log = open_log(segment_bytes=200, was_clean=True)
    log.update_high_watermark(8)
    assert log.read(0, 100, max_offset_exclusive=8, min_one_batch=True).is_cold
    assert log.read(0, 100, max_offset_exclusive=8, min_one_batch=True, allow_blocking=True).next_offset == 2


def test_only_a_few_sealed_segments_stay_in_memory(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    for _ in range(20):
        append(log, make_batch(2))
    assert offsets_in(log) == list(range(40))
    assert offsets_in(log) == list(range(40))
    assert sum(segment.is_loaded for segment in log.segments) <= 6


def test_a_read_under_way_survives_the_deletion_of_its_segment(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200, retention_bytes=0, file_delete_delay_ms=0)
    append(log, make_batch(2))
    append(log, make_batch(2))
    file = log.segments[0].file
    path = log.segments[0].path
    assert log.delete_old_segments(NOW_MS) > 0
    log.remove_deleted_files(NOW_MS)
    assert not path.exists()
    assert parse_header(file.read(0, 100)).record_count == 2


# By time.


def test_lookup_by_time_is_exact_to_the_record(open_log, make_batch) -> None:
    log = open_log(segment_bytes=2000, index_interval_bytes=200)
    stamps = []
    for start in (1000, 5000, 3000, 5000, 9000, 2000, 9000) * 5:
        append(log, make_batch(4, timestamp_ms=start))
        stamps += range(start, start + 4)
    assert len(log.segments) > 2
    for wanted in range(990, 9010, 3):
        expected = next(((stamp, offset) for offset, stamp in enumerate(stamps) if stamp >= wanted), None)
        found = log.offset_for_timestamp(wanted, log.log_end_offset)
        assert (found[:2] if found else None) == expected, wanted


def test_lookup_by_time_stays_between_start_and_bound(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(4, timestamp_ms=1000))
    append(log, make_batch(4, timestamp_ms=2000), epoch=5)
    log.increment_log_start_offset(2)
    assert log.offset_for_timestamp(0, 8) == (1002, 2, 0)
    assert log.offset_for_timestamp(2001, 8) == (2001, 5, 5)
    assert log.offset_for_timestamp(2001, 5) is None
    assert log.offset_for_timestamp(3000, 8) is None


def test_the_largest_timestamp_is_found_at_its_first_record(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    assert log.offset_of_max_timestamp(0) is None
    for start in (1000, 9000, 3000, 9000, 2000):
        append(log, make_batch(2, timestamp_ms=start), epoch=1)
    assert log.offset_of_max_timestamp(10) == (9001, 3, 1)
    assert log.offset_of_max_timestamp(2) == (1001, 1, 1)
    log.increment_log_start_offset(4)
    assert log.offset_of_max_timestamp(10) == (9001, 7, 1)


def test_the_largest_timestamp_is_not_one_of_deleted_records(open_log, make_batch) -> None:
    log = open_log()
    builder = BatchBuilder()
    for stamp in (9000, 1000, 2000):
        builder.append(b"k", b"v", timestamp_ms=stamp)
    append(log, bytes(builder.build()))
    append(log, make_batch(1, timestamp_ms=1500))
    log.increment_log_start_offset(1)
    assert log.offset_of_max_timestamp(4) == (2000, 2, 0)


def test_the_brokers_time_counts_for_all_records_of_its_batch(open_log, make_batch) -> None:
    log = open_log(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    append(log, make_batch(3, timestamp_ms=5), now_ms=NOW_MS)
    assert log.offset_for_timestamp(NOW_MS, 3) == (NOW_MS, 0, 0)
    assert log.offset_of_max_timestamp(3) == (NOW_MS, 0, 0)


# Shortening.


def test_truncation_cuts_whole_batches_and_the_log_continues_at_the_offset(open_log, make_batch) -> None:
    log = open_log(segment_bytes=400)
    for _ in range(10):
        append(log, make_batch(2))
    assert not log.truncate_to(20, NOW_MS)
    assert log.truncate_to(8, NOW_MS)
    assert (log.log_end_offset, log.high_watermark) == (8, 8)
    assert offsets_in(log) == list(range(8))
    append(log, make_batch(3))
    assert offsets_in(log) == list(range(11))


def test_truncation_into_a_batch_takes_the_batch(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(2))
    append(log, make_batch(4))
    log.truncate_to(3, NOW_MS)
    assert log.log_end_offset == 3
    assert log.size_bytes == len(make_batch(2))


def test_truncation_takes_producers_epochs_and_time_back(open_log, make_batch) -> None:
    log = open_log()
    for number in range(4):
        batch = make_batch(1, timestamp_ms=NOW_MS + number, producer_id=1, producer_epoch=0, base_sequence=number)
        append(log, batch, epoch=number)
    log.truncate_to(2, NOW_MS)
    assert log.leader_epochs.latest == 1
    assert log.producer_states()[0].last_sequence == 1
    assert log.offset_of_max_timestamp(10) == (NOW_MS + 1, 1, 1)
    assert append(log, make_batch(1, producer_id=1, producer_epoch=0, base_sequence=2), epoch=9).first_offset == 2


def test_a_stale_position_is_not_served_after_truncation(open_log, make_batch) -> None:
    log = open_log()
    for _ in range(4):
        append(log, make_batch(1, value=b"long" * 100))
    log.read(0, 1 << 20, max_offset_exclusive=4, min_one_batch=True)
    log.truncate_to(1, NOW_MS)
    for _ in range(5):
        append(log, make_batch(1, value=b"short"))
    for offset in range(6):
        read = log.read(offset, 1, max_offset_exclusive=6, min_one_batch=True)
        assert parse_header(read.records).base_offset == offset


def test_a_full_truncation_begins_anew(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    for number in range(4):
        append(log, make_batch(1, producer_id=1, producer_epoch=0, base_sequence=number), epoch=2)
    log.truncate_fully_and_start_at(100, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.size_bytes) == (100, 100, 100, 0)
    assert log.producer_states() == []
    assert log.leader_epochs.entries == []
    assert append(log, make_batch(1)).first_offset == 100


def test_truncation_before_the_first_segment_begins_anew_there(open_log, make_batch) -> None:
    log = open_log()
    log.truncate_fully_and_start_at(100, NOW_MS)
    append(log, make_batch(1))
    assert log.truncate_to(50, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_records_are_deleted_up_to_the_high_watermark_only(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(10))
    log.append_as_leader(make_batch(10), leader_epoch=0, now_ms=NOW_MS)
    with pytest.raises(ApiError) as refused:
        log.increment_log_start_offset(11)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.increment_log_start_offset(7)
    assert not log.increment_log_start_offset(5)
    assert log.log_start_offset == 7


def test_the_quorums_log_drops_what_a_snapshot_covers(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    for _ in range(6):
        append(log, make_batch(2))
    assert log.delete_segments_before(5, NOW_MS) == 2
    assert log.log_start_offset == 5
    assert log.segments[0].base_offset == 4
    assert offsets_in(log) == list(range(5, 12))


def test_dropped_files_wait_for_their_delay(open_log, make_batch, tmp_path: Path) -> None:
    log = open_log(segment_bytes=200, retention_bytes=1, file_delete_delay_ms=1000)
    append(log, make_batch(2))
    append(log, make_batch(2))
    log.delete_old_segments(NOW_MS)
    assert list((tmp_path / "t-0").glob("*.log.deleted"))
    assert log.remove_deleted_files(NOW_MS + 999) == 0
    assert log.remove_deleted_files(NOW_MS + 1000) == 1
    assert not list((tmp_path / "t-0").glob("*.deleted"))


# Watermarks and transactions.


def test_the_high_watermark_stays_inside_the_log(open_log, make_batch) -> None:
    log = open_log()
    log.append_as_leader(make_batch(5), leader_epoch=0, now_ms=NOW_MS)
    assert log.high_watermark == 0
    assert log.update_high_watermark(3)
    assert not log.update_high_watermark(3)
    log.update_high_watermark(99)
    assert log.high_watermark == 5


def transactional(make_batch, producer_id: int, sequence: int) -> bytes:
    return make_batch(1, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True)


def end(log: Log, producer_id: int, *, is_commit: bool) -> None:
    marker = end_txn_batch(
        producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=NOW_MS
    )
    log.append_own_as_leader(marker, leader_epoch=0, now_ms=NOW_MS)


def test_the_last_stable_offset_waits_for_open_transactions(open_log, make_batch) -> None:
    log = open_log()
    append(log, make_batch(1))
    append(log, transactional(make_batch, 7, 0))
    append(log, transactional(make_batch, 8, 0))
    assert log.last_stable_offset == 1
    end(log, 7, is_commit=True)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 2
    end(log, 8, is_commit=False)
    assert log.last_stable_offset == 2, "the marker is not replicated yet"
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 5


def test_the_last_stable_offset_is_in_the_log_even_if_an_open_transaction_began_before_it(open_log, make_batch) -> None:
    log = open_log()
    append(log, transactional(make_batch, 7, 0))
    append(log, transactional(make_batch, 7, 1))
    append(log, make_batch(1))
    log.update_high_watermark(log.log_end_offset)
    log.increment_log_start_offset(1)
    assert log.last_stable_offset == 1
    end(log, 7, is_commit=False)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 4
    assert [(a.first_offset, a.last_offset) for a in log.aborted_transactions(1, 4)] == [(0, 3)]


def test_a_transaction_whose_beginning_retention_took_is_still_open_after_a_restart(open_log, make_batch) -> None:
    settings = {"segment_bytes": 300, "retention_bytes": 0}
    log = open_log(**settings)
    append(log, transactional(make_batch, 7, 0))
    for _ in range(8):
        append(log, make_batch(1))
    log.update_high_watermark(log.log_end_offset)
    log.delete_old_segments(NOW_MS)
    assert log.log_start_offset > 0
    end_offset, start_offset = log.log_end_offset, log.log_start_offset
    log.close(NOW_MS)
    log = open_log(was_clean=True, recovery_point=end_offset, log_start_offset=start_offset, **settings)
    log.update_high_watermark(end_offset)
    assert log.producers.first_unstable_offset == 0
    assert log.last_stable_offset == start_offset
    end(log, 7, is_commit=True)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset


def test_aborted_transactions_are_told_for_the_range_that_they_touch(open_log, make_batch) -> None:
    log = open_log(segment_bytes=200)
    for producer_id, is_commit in ((1, False), (2, True), (3, False)):
        append(log, transactional(make_batch, producer_id, 0))
        append(log, transactional(make_batch, producer_id, 1))
        end(log, producer_id, is_commit=is_commit)
    log.update_high_watermark(log.log_end_offset)
    assert [(a.producer_id, a.first_offset, a.last_offset) for a in log.aborted_transactions(0, 9)] == [
        (1, 0, 2),
        (3, 6, 8),
    ]
    assert [a.producer_id for a in log.aborted_transactions(3, 7)] == [3]
    assert log.aborted_transactions(3, 6) == []


def test_aborted_transactions_are_sorted_by_first_offset(open_log, make_batch) -> None:
    log = open_log()
    append(log, transactional(make_batch, 1, 0))
    append(log, transactional(make_batch, 2, 0))
    end(log, 2, is_commit=False)
    end(log, 1, is_commit=False)
    assert [a.producer_id for a in log.aborted_transactions(0, 4)] == [1, 2]


# Segments.


def test_segments_that_nobody_reads_give_their_files_back(open_log, make_batch) -> None:
    log = open_log(segment_bytes=150, index_interval_bytes=50)
    for number in range(30):
        log.append_as_leader(make_batch(timestamp_ms=NOW_MS + number), leader_epoch=0, now_ms=NOW_MS)
    assert len(log.segments) == 30

    def count_open() -> int:
        return sum(segment.is_open for segment in log.segments)

    assert count_open() == 5, "the active one, and four that were sealed last"
    log.flush(NOW_MS)
    assert count_open() == 5, "a flush leaves none open"
    for number in range(30):
        assert log.offset_for_timestamp(NOW_MS + number, 30).offset == number
    assert count_open() <= 5, "nor do lookups"
    log = open_log(segment_bytes=150, index_interval_bytes=50)
    assert count_open() == 1, "nor does recovery"
    log.update_high_watermark(30)
    assert log.delete_old_segments(NOW_MS) == 0
    assert count_open() == 1, "nor does retention"


def test_a_follower_rolls_where_its_log_ends_even_if_offsets_are_missing(open_log, make_batch) -> None:
    log = open_log(segment_bytes=150)
    for base_offset in (0, 7, 2**31 + 100):
        log.append_as_follower(make_batch(1, base_offset=base_offset), now_ms=NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2**31 + 100]
