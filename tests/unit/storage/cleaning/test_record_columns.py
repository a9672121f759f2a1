import numpy as np
import pytest

from ottla.protocol.records import CorruptRecords, Record, encode_record, encode_records
from ottla.storage.cleaning.record_columns import Payload, RecordColumns
from unit.storage.cleaning.hashes import hashes_of

LONG = b"x" * 20_000
RECORDS = [
    Record(0, 0, b"a", b"1", ()),
    Record(-5, 1, b"", b"", (("h", b"1"), ("i", None))),
    Record(70, 63, None, None, ()),
    Record(10**12, 64, b"k" * 63, None, (("h", b"1"),)),
    Record(-(10**12), 8191, b"k" * 64, LONG, ()),
    Record(8192, 8192, LONG, b"v" * 63, ()),
    Record(1, 2_000_000, None, LONG * 120, ()),
]


def columns(records: list[Record] = RECORDS) -> RecordColumns:
    return RecordColumns([Payload(100, len(records), encode_records(records))])


def test_numbers_of_any_length_are_read() -> None:
    found = columns()
    assert found.offsets.tolist() == [100 + record.offset_delta for record in RECORDS]
    assert found.timestamp_deltas.tolist() == [record.timestamp_delta for record in RECORDS]
    assert found.has_key.tolist() == [record.key is not None for record in RECORDS]
    assert found.is_tombstone.tolist() == [record.value is None for record in RECORDS]
    keys = [record.key for record in RECORDS if record.key is not None]
    expected, hashes = hashes_of(keys), found.hashes.at(found.has_key)
    assert (hashes.first.tolist(), hashes.second.tolist()) == (expected.first.tolist(), expected.second.tolist())


def test_batches_are_put_together_and_found_again() -> None:
    payloads = [Payload(7, 2, encode_records(RECORDS[:2])), Payload(90, 1, encode_records(RECORDS[3:4]))]
    found = RecordColumns(payloads)
    assert found.bounds == [0, 2, 3]
    assert found.offsets.tolist() == [7, 8, 90 + 64]


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_single_records_are_cut_out(number: int) -> None:
    assert columns().only(np.array([number])) == encode_record(RECORDS[number])


def test_neighbours_are_cut_out_in_order() -> None:
    assert columns().only(np.array([0, 1, 6])) == encode_records([RECORDS[0], RECORDS[1], RECORDS[6]])


def test_a_payload_that_ends_early_is_corrupt() -> None:
    whole = Payload(0, 2, encode_records(RECORDS[:2]))
    for size in range(len(whole.records)):
        cut = Payload(0, 2, whole.records[:size])
        for payloads in ([cut], [cut, whole]):
            with pytest.raises(CorruptRecords):
                RecordColumns(payloads)


def test_bytes_behind_the_last_record_are_corrupt() -> None:
    with pytest.raises(CorruptRecords, match="follow the last of 1 records"):
        RecordColumns([Payload(0, 1, encode_records(RECORDS[:2]))])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\x01" + bytes(6), "does not fit"),
        (b"\x10\x00\x00\x01\x00\x00\x00\x00\x00", "before that of its batch"),
        (b"\x10\x00\x00\x00\x03\x00\x00\x00\x00", "negative length"),
        (b"\x10\x00\x00\x00\x20\x00\x00\x00\x00", "ends beyond it"),
        (b"\x10\x00\x00\x00" + b"\xfe" * 4 + b"\x00", "beyond it"),
        (b"\x04\x00\x00", "1 records do not fit into 3 bytes"),
        (b"\x04\x00\x00" + bytes(4), "has no room for its fields"),
        (b"\x0c\x00\x80\x80\x80\x80\x00", "fields end beyond it"),
        (b"\x18\x00" + b"\xff" * 11, "has no end"),
    ],
)
def test_fields_that_cannot_be_are_corrupt(record: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecords, match=reason):
        RecordColumns([Payload(0, 1, record)])
