import pytest

from ottla.protocol.records import CorruptRecords, Record, encode_record, encode_records
from ottla.storage.cleaning.record_columns import RecordColumns

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


def columns() -> RecordColumns:
    return RecordColumns(encode_records(RECORDS), len(RECORDS))


def test_numbers_of_any_length_are_read() -> None:
    found = columns()
    assert found.keys == [record.key for record in RECORDS]
    assert found.offset_deltas == [record.offset_delta for record in RECORDS]
    assert found.tombstones == {2, 3}


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_single_records_are_cut_out_with_their_time(number: int) -> None:
    is_kept = [number == other for other in range(len(RECORDS))]
    assert columns().only(is_kept) == encode_record(RECORDS[number])
    assert columns().latest_timestamp_delta(is_kept) == RECORDS[number].timestamp_delta


def test_neighbours_are_cut_out_in_order() -> None:
    is_kept = [True, True, False, False, False, False, True]
    assert columns().only(is_kept) == encode_records([RECORDS[0], RECORDS[1], RECORDS[6]])
    assert columns().latest_timestamp_delta(is_kept) == 1


def test_a_payload_that_ends_early_is_corrupt() -> None:
    payload = encode_records(RECORDS[:2])
    for size in range(len(payload)):
        with pytest.raises(CorruptRecords):
            RecordColumns(payload[:size], 2)


def test_bytes_behind_the_last_record_are_corrupt() -> None:
    with pytest.raises(CorruptRecords, match="follow the last of 1 records"):
        RecordColumns(encode_records(RECORDS[:2]), 1)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\x01", "claims"),
        (b"\x10\x00\x00\x01\x00\x00\x00\x00\x00", "before that of its batch"),
        (b"\x10\x00\x00\x00\x03\x00\x00\x00\x00", "negative length"),
        (b"\x10\x00\x00\x00\x20\x00\x00\x00\x00", "ends behind it"),
    ],
)
def test_fields_that_cannot_be_are_corrupt(record: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecords, match=reason):
        RecordColumns(record, 1)
