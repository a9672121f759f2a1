"""Record batches to and from records, and what a reader must not see."""

import pytest

from ottla.client.fetch_request import AbortedTransaction
from ottla.client.records import NewRecord, decode_batches, decode_records, encode_records, visible_batches
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.record_batch import TimestampType, set_base_offset
from ottla.protocol.records import CorruptRecords


def batch(offset: int, values: list[bytes], *, producer_id: int = -1, is_transactional: bool = False) -> bytearray:
    made = encode_records(
        [NewRecord(value, timestamp_ms=1_000) for value in values],
        producer_id=producer_id,
        is_transactional=is_transactional,
    )
    set_base_offset(made, offset)
    return made


def marker(offset: int, producer_id: int, *, is_commit: bool) -> bytearray:
    made = end_txn_batch(
        producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=0
    )
    set_base_offset(made, offset)
    return made


def values(batches: bytes, **options: object) -> list[bytes | None]:
    return [record.value for record in decode_records("t", 0, batches, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", list(Codec))
def test_records_come_back_with_their_place(codec: Codec) -> None:
    made = encode_records([NewRecord(b"a", b"k", 5, (("h", b"1"),)), NewRecord(None, None, 7)], codec=codec)
    set_base_offset(made, 40)
    made[12:16] = (3).to_bytes(4)
    first, second = decode_records("orders", 2, made)
    assert first[:-1] == ("orders", 2, 40, 5, TimestampType.CREATE_TIME, b"k", b"a", (("h", b"1"),))
    assert (first.leader_epoch, first.batch.codec) == (3, codec)
    assert (second.offset, second.timestamp_ms, second.key, second.value) == (41, 7, None, None)


def test_the_brokers_time_holds_for_all_records_of_its_batch() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME)
    builder.append(None, b"a", timestamp_ms=5)
    builder.append(None, b"b", timestamp_ms=9)
    found = decode_records("t", 0, builder.build())
    assert [(record.timestamp_ms, record.timestamp_type) for record in found] == [(9, 1), (9, 1)]


def test_a_batch_may_begin_before_the_offset_asked_for() -> None:
    stored = batch(10, [b"a", b"b", b"c"]) + batch(13, [b"d"])
    assert values(stored, from_offset=11) == [b"b", b"c", b"d"]
    assert [len(found) for found in decode_batches("t", 0, stored, from_offset=13)] == [1]


def test_markers_are_seen_only_by_those_who_ask() -> None:
    stored = batch(0, [b"a"], producer_id=1, is_transactional=True) + marker(1, 1, is_commit=True) + batch(2, [b"b"])
    assert values(stored) == [b"a", b"b"]
    found = [record for records in decode_batches("t", 0, stored, include_control=True) for record in records]
    assert [(record.offset, record.batch.is_control) for record in found] == [(0, False), (1, True), (2, False)]


def test_aborted_records_are_hidden_up_to_their_marker() -> None:
    stored = (
        batch(0, [b"aborted"], producer_id=1, is_transactional=True)
        + batch(1, [b"plain"])
        + batch(2, [b"committed"], producer_id=2, is_transactional=True)
        + batch(3, [b"aborted too"], producer_id=1, is_transactional=True)
        + marker(4, 1, is_commit=False)
        + batch(5, [b"next"], producer_id=1, is_transactional=True)
        + marker(6, 1, is_commit=True)
    )
    assert values(stored, aborted=[AbortedTransaction(1, 0)]) == [b"plain", b"committed", b"next"]
    assert values(stored) == [b"aborted", b"plain", b"committed", b"aborted too", b"next"]


def test_aborted_transactions_may_be_listed_in_any_order() -> None:
    stored = (
        batch(0, [b"one"], producer_id=1, is_transactional=True)
        + marker(1, 1, is_commit=False)
        + batch(2, [b"two"], producer_id=1, is_transactional=True)
        + marker(3, 1, is_commit=False)
        + batch(4, [b"three"], producer_id=1, is_transactional=True)
    )
    assert values(stored, aborted=[AbortedTransaction(1, 2), AbortedTransaction(1, 0)]) == [b"three"]


def test_a_changed_byte_is_noticed_unless_nobody_looks() -> None:
    stored = batch(0, [b"abc"])
    stored[-2] ^= 1
    with pytest.raises(CorruptRecords, match="checksum"):
        values(stored)
    assert len(list(visible_batches(stored, check_crc=False))) == 1


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode_records([])
