import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import write_varint
from ottla.protocol.records import CorruptRecords, Record, encode_record, encode_records, iterate_records

RECORDS = [
    Record(0, 0, b"key", b"value", ()),
    Record(-5, 1, None, b"", (("name", b"x"), ("other", None))),
    Record(2**40, 2, b"", None, (("é", b""),)),
    Record(3, 300, b"k" * 200, b"v" * 20000, ()),
]


def test_records_come_back_as_they_were() -> None:
    assert list(iterate_records(encode_records(RECORDS), len(RECORDS))) == RECORDS


def test_the_bytes_are_those_of_the_format() -> None:
    # length 9, attributes, timestamp delta 1, offset delta 2, key "k", value "vw", no headers
    assert encode_record(Record(1, 2, b"k", b"vw", ())) == bytes([18, 0, 2, 4, 2, ord("k"), 4, ord("v"), ord("w"), 0])


@pytest.mark.parametrize("count", [len(RECORDS) - 1, len(RECORDS) + 1])
def test_a_wrong_count_is_refused(count: int) -> None:
    with pytest.raises(CorruptRecords) as refused:
        list(iterate_records(encode_records(RECORDS), count))
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_every_cut_of_the_payload_is_refused() -> None:
    payload = encode_records(RECORDS[:3])
    for end in range(len(payload)):
        with pytest.raises(CorruptRecords):
            list(iterate_records(payload[:end], 3))


def test_a_record_longer_than_its_fields_is_refused() -> None:
    body = encode_record(Record(0, 0, b"k", b"v", ()))[1:] + b"extra"
    with pytest.raises(CorruptRecords, match="earlier"):
        list(iterate_records(write_varint(len(body)) + body, 1))


@pytest.mark.parametrize("field", [b"\x03", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\x01"])
def test_impossible_lengths_are_refused(field: bytes) -> None:
    body = b"\0\0\0" + field + b"\1\0"
    with pytest.raises(CorruptRecords):
        list(iterate_records(write_varint(len(body)) + body, 1))


def test_more_headers_than_bytes_are_refused() -> None:
    body = b"\0\0\0\1\1" + write_varint(1_000_000)
    with pytest.raises(CorruptRecords, match="headers"):
        list(iterate_records(write_varint(len(body)) + body, 1))


def test_a_header_without_a_name_is_refused() -> None:
    body = b"\0\0\0\1\1" + write_varint(1) + b"\1\1"
    with pytest.raises(CorruptRecords, match="name"):
        list(iterate_records(write_varint(len(body)) + body, 1))
