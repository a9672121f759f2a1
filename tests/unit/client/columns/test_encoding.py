"""Columns into record batches: what generated columns do not show."""

import pyarrow as pa
import pytest

from ottla.client.columns import batches_to_columns, columns_to_batches
from ottla.client.records import decode_records
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import iterate_headers

PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def values_of(made: bytes) -> list[bytes | None]:
    return [record.value for record in decode_records("t", 0, made)]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(3), pa.binary_view()]
)
def test_values_of_any_kind_of_bytes_are_taken(kind: pa.DataType) -> None:
    table = pa.table({"value": pa.array([b"one", None, b"two"], pa.binary()).cast(kind)})
    assert values_of(columns_to_batches(table, timestamp_ms=0)) == [b"one", None, b"two"]


def test_values_that_are_no_bytes_are_refused_with_their_type() -> None:
    with pytest.raises(ValueError, match="needed in value, not int64: cast it"):
        columns_to_batches(pa.table({"value": pa.array([1])}), timestamp_ms=0)


def test_what_stands_behind_a_null_is_not_written() -> None:
    bounds, content = pa.array([0, 3, 6], pa.int32()).buffers()[1], pa.py_buffer(b"onetwo")
    values = pa.Array.from_buffers(pa.binary(), 2, [pa.py_buffer(b"\2"), bounds, content])
    made = columns_to_batches(pa.table({"value": values, "key": values}), timestamp_ms=0)
    assert [(record.key, record.value) for record in decode_records("t", 0, made)] == [(None, None), (b"two", b"two")]


def test_a_record_larger_than_a_batch_is_alone_in_one() -> None:
    table = pa.table({"value": pa.array([b"a", b"b", bytes(5_000), b"c", b"d"])})
    made = columns_to_batches(table, timestamp_ms=0, batch_bytes=1_000)
    assert [header.record_count for _, header in iterate_headers(made)] == [2, 1, 2]


def test_batches_are_filled() -> None:
    table = pa.table({"value": pa.array([b"x" * 100] * 20_000), "key": pa.array([b"key"] * 20_000)})
    sizes = [header.size_bytes for _, header in iterate_headers(columns_to_batches(table, timestamp_ms=5))]
    assert max(sizes) <= 1_000_000
    assert min(sizes[:-1]) > 950_000


def test_columns_beyond_what_is_made_at_a_time_go_on_in_sequence() -> None:
    table = pa.table({"value": pa.array([b"%d" % number * 1_000 for number in range(10_000)])})
    made = columns_to_batches(table, timestamp_ms=0, codec=Codec.LZ4, base_sequence=5, producer_id=1, producer_epoch=0)
    expected = 5
    for _, header in iterate_headers(made):
        assert header.base_sequence == expected
        expected += header.record_count
    assert batches_to_columns(made).column("value").equals(table.column("value").combine_chunks())


def test_nothing_becomes_no_batch() -> None:
    assert columns_to_batches(pa.table({"value": pa.array([], pa.binary())}), timestamp_ms=0) == b""
    assert columns_to_batches(pa.table({"value": pa.chunked_array([], pa.string())}), timestamp_ms=0) == b""


@pytest.mark.parametrize("kind", [PAIRS, pa.large_list(PAIRS.value_type)])
def test_headers_may_be_null_and_sliced(kind: pa.DataType) -> None:
    rows = [[{"key": "zero", "value": b"0"}], None, [], [{"key": "a", "value": b"1"}, {"key": "b", "value": None}]]
    table = pa.table({"value": pa.array(["w", "x", "y", "z"]), "headers": pa.array(rows, kind)}).slice(1)
    found = decode_records("t", 0, columns_to_batches(table, timestamp_ms=0))
    assert [record.headers for record in found] == [(), (), (("a", b"1"), ("b", None))]


def test_headers_without_a_key_are_refused() -> None:
    for row in ([{"key": None, "value": b"1"}], [None]):
        table = pa.table({"value": pa.array(["v"]), "headers": pa.array([row], PAIRS)})
        with pytest.raises(ValueError, match="has no key"):
            columns_to_batches(table, timestamp_ms=0)


@pytest.mark.parametrize("column", [pa.array([["text"]]), pa.array([[{"name": "n"}]]), pa.array(["text"])])
def test_headers_of_another_form_are_refused_by_their_type(column: pa.Array) -> None:
    with pytest.raises(ValueError, match="headers are lists of a key and a value, not"):
        columns_to_batches(pa.table({"value": pa.array(["v"]), "headers": column}), timestamp_ms=0)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_any_unit_become_milliseconds(unit: str) -> None:
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    times = pa.chunked_array([pa.array([3 * per_second, None], pa.timestamp(unit, tz="UTC"))])
    made = columns_to_batches(pa.table({"value": pa.array(["a", "b"]), "timestamp": times}), timestamp_ms=8)
    assert [record.timestamp_ms for record in decode_records("t", 0, made)] == [3_000, 8]
