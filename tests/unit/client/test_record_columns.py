"""A payload taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.record_columns import split_records
from ottla.protocol.records import CorruptRecords, Record, encode_records, iterate_records

blobs = st.none() | st.binary(max_size=300)
records = st.builds(
    Record,
    st.integers(-(2**40), 2**40),
    st.integers(0, 2**31 - 1),
    blobs,
    blobs,
    st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple),
)


@given(st.lists(records, max_size=8))
def test_the_columns_are_the_records(rows: list[Record]) -> None:
    columns = split_records(encode_records(rows), len(rows))
    found = zip(
        columns.timestamp_deltas,
        columns.offset_deltas,
        columns.keys,
        columns.values,
        columns.headers,
        strict=True,
    )
    assert [Record(*row) for row in found] == rows


@given(st.binary(max_size=60), st.integers(0, 4))
def test_noise_is_refused_exactly_where_the_one_by_one_reader_refuses_it(noise: bytes, count: int) -> None:
    try:
        expected = len(list(iterate_records(noise, count)))
    except CorruptRecords:
        with pytest.raises(CorruptRecords):
            split_records(noise, count)
    else:
        assert len(split_records(noise, count).values) == expected


def test_every_cut_is_refused() -> None:
    payload = encode_records([Record(0, 0, b"key", b"value", (("h", b"x"),))])
    for end in range(len(payload)):
        with pytest.raises(CorruptRecords):
            split_records(payload[:end], 1)


def test_more_bytes_than_records_are_refused() -> None:
    with pytest.raises(CorruptRecords, match="follow the last"):
        split_records(encode_records([Record(0, 0, b"k", b"v", ())]) + b"x", 1)
