"""Headers as columns."""

import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.columnar.batch_headers import batch_headers
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TimestampType, iterate_headers
from ottla.protocol.records import CorruptRecords


def batch(number: int, codec: Codec = Codec.NONE, kind: TimestampType = TimestampType.CREATE_TIME) -> bytearray:
    builder = BatchBuilder(
        base_offset=10 * number, codec=codec, timestamp_type=kind, producer_id=number, is_control=number == 2
    )
    for delta in range(number + 1):
        builder.append(b"k", b"v", timestamp_ms=1_000 * number + delta)
    return builder.build()


BATCHES = batch(0) + batch(1, Codec.LZ4) + batch(2) + batch(3, kind=TimestampType.LOG_APPEND_TIME)


def test_the_columns_are_the_headers() -> None:
    found = batch_headers(BATCHES)
    headers = list(iterate_headers(BATCHES))
    assert found.positions.tolist() == [position for position, _ in headers]
    assert found.sizes.tolist() == [header.size_bytes for _, header in headers]
    assert found.base_offsets.tolist() == [header.base_offset for _, header in headers]
    assert found.last_offset_deltas.tolist() == [header.last_offset_delta for _, header in headers]
    assert found.base_timestamps.tolist() == [header.base_timestamp for _, header in headers]
    assert found.max_timestamps.tolist() == [header.max_timestamp for _, header in headers]
    assert found.record_counts.tolist() == [1, 2, 3, 4]
    assert found.is_compressed.tolist() == [False, True, False, False]
    assert found.is_control.tolist() == [False, False, True, False]
    assert found.is_log_append_time.tolist() == [False, False, False, True]


def test_some_rows_are_headers_again() -> None:
    found = batch_headers(BATCHES)
    assert found.at(found.record_counts > 2).base_offsets.tolist() == [20, 30]


def test_nothing_has_no_headers() -> None:
    assert len(batch_headers(b"")) == 0


@pytest.mark.parametrize("end", [1, 60, 61, len(BATCHES) - 1])
def test_what_is_cut_off_is_corrupt(end: int) -> None:
    with pytest.raises(CorruptRecords, match="are left"):
        batch_headers(BATCHES[:end])


def test_older_formats_are_named() -> None:
    old = bytearray(BATCHES)
    old[len(batch(0)) + 16] = 1
    with pytest.raises(CorruptRecords, match="message format version 1"):
        batch_headers(old)


def test_a_length_that_is_none_is_corrupt() -> None:
    wrong = bytearray(BATCHES)
    wrong[8:12] = (48).to_bytes(4, "big")
    with pytest.raises(CorruptRecords, match="batch length 48"):
        batch_headers(wrong)


def test_a_checksum_that_does_not_fit_is_told_with_its_offset() -> None:
    batch_headers(BATCHES).check_crcs(BATCHES)
    damaged = bytearray(BATCHES)
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecords, match="the batch at offset 30 does not match its checksum"):
        batch_headers(damaged).check_crcs(damaged)
