"""Fields of many records."""

import numpy as np
import pytest

from ottla.protocol.columnar.record_fields import RecordFields, behind_fields, read_fields
from ottla.protocol.records import CorruptRecords, Record, encode_record

RECORDS = [
    Record(0, 0, b"a", b"1", ()),
    Record(-5, 1, b"", None, (("h", b"1"),)),
    Record(10**12, 2**31 - 1, None, b"v" * 300, ()),
]


def fields_of(*records: bytes) -> RecordFields:
    ends = np.cumsum([len(record) for record in records])
    return read_fields(np.frombuffer(b"".join(records), np.uint8), np.append(0, ends[:-1]), ends)


def test_each_field_is_a_column() -> None:
    made = [encode_record(record) for record in RECORDS]
    found, data = fields_of(*made), b"".join(made)
    assert found.timestamp_deltas.tolist() == [0, -5, 10**12]
    assert found.offset_deltas.tolist() == [0, 1, 2**31 - 1]
    assert found.key_lengths.tolist() == [1, 0, -1]
    assert found.value_lengths.tolist() == [1, -1, 300]
    assert data[found.key_starts[0]] == ord("a")
    assert [data[found.value_starts[row]] for row in (0, 2)] == [ord("1"), ord("v")]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\x0c\x00\x80\x80\x80\x80\x00", "fields end beyond it"),
        (b"\x0c\x00\x00\x00\x03\x00\x00", "key has a negative length"),
        (b"\x0c\x00\x00\x00\x04\x00\x00", "key ends beyond it"),
        (b"\x0c\x00\x00" + b"\xff" * 9, "has no end"),
        (b"\x12\x00\x00\x80\x80\x80\x80\x7f\x00\x00", "longer than 32 bits"),
    ],
)
def test_the_record_that_cannot_be_is_named(record: bytes, reason: str) -> None:
    whole = encode_record(RECORDS[0])
    with pytest.raises(CorruptRecords, match=reason):
        fields_of(whole, record, whole)


def test_a_field_needs_something_behind_it() -> None:
    starts, ends = np.array([3, 10]), np.array([8, 20])
    assert behind_fields(starts, np.array([-1, 9]), ends, "value").tolist() == [3, 19]
    with pytest.raises(CorruptRecords, match="record 1 is malformed: its value ends beyond it"):
        behind_fields(starts, np.array([4, 10]), ends, "value")
    with pytest.raises(CorruptRecords, match="record 7 is malformed: its value has a negative length"):
        behind_fields(starts, np.array([4, -2]), ends, "value", np.array([5, 7]))
