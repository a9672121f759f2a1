import pytest

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import (
    ControlType,
    control_batch,
    control_key,
    end_txn_batch,
    parse_control_key,
    parse_end_txn_marker,
)
from ottla.protocol.record_batch import batch_records, parse_header
from ottla.protocol.records import CorruptRecords


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_says_how_the_transaction_ended(is_commit: bool) -> None:
    batch = end_txn_batch(producer_id=5, producer_epoch=2, is_commit=is_commit, coordinator_epoch=9, timestamp_ms=1)
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 2, -1)
    assert parse_end_txn_marker(batch, header) == (is_commit, 9)


def test_a_marker_has_kafkas_bytes() -> None:
    batch = end_txn_batch(producer_id=5, producer_epoch=2, is_commit=True, coordinator_epoch=9, timestamp_ms=1)
    (record,) = batch_records(batch, parse_header(batch))
    assert record.key == bytes.fromhex("00000001")
    assert record.value == bytes.fromhex("000000000009")


def test_the_quorums_control_records_are_no_markers() -> None:
    batch = control_batch(ControlType.LEADER_CHANGE, b"message", timestamp_ms=1, leader_epoch=3)
    header = parse_header(batch)
    assert (header.is_control, header.is_transactional, header.leader_epoch) == (True, False, 3)
    (record,) = batch_records(batch, header)
    assert parse_control_key(record.key) == ControlType.LEADER_CHANGE
    assert record.value == b"message"
    assert parse_end_txn_marker(batch, header) is None


def test_a_control_record_without_a_type_is_refused() -> None:
    with pytest.raises(CorruptRecords):
        parse_control_key(b"\0")


def test_a_marker_without_an_epoch_is_refused() -> None:
    builder = BatchBuilder(is_control=True)
    builder.append(control_key(ControlType.ABORT), b"", timestamp_ms=1)
    batch = builder.build()
    with pytest.raises(CorruptRecords, match="coordinator epoch"):
        parse_end_txn_marker(batch, parse_header(batch))
