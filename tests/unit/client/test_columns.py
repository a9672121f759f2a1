"""Record batches to and from Arrow columns."""

import datetime
import subprocess
import sys

import pyarrow as pa
import pytest

from ottla.client.columns import batches_to_columns, columns_to_batches, schema
from ottla.client.fetch_request import AbortedTransaction
from ottla.client.records import NewRecord, decode_records, encode_records
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TimestampType, iterate_headers, set_base_offset

ROWS = [
    NewRecord(b"a", b"k", 1_000, (("h", b"1"), ("n", None))),
    NewRecord(None, None, 1_001),
    NewRecord(b"", b"", 1_002, (("h", b""),)),
]


def stored(offset: int = 0, codec: Codec = Codec.NONE) -> bytearray:
    made = encode_records(ROWS, codec=codec)
    set_base_offset(made, offset)
    return made


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_become_columns(codec: Codec) -> None:
    columns = batches_to_columns(stored(10, codec) + stored(13, codec))
    columns.validate(full=True)
    assert columns.schema == schema()
    assert columns.num_rows == 6
    assert columns.column("offset").to_pylist() == [10, 11, 12, 13, 14, 15]
    assert columns.slice(0, 3).to_pylist() == [
        {
            "offset": 10 + number,
            "timestamp": datetime.datetime.fromtimestamp(row.timestamp_ms / 1000, datetime.UTC),
            "timestamp_type": 0,
            "key": row.key,
            "value": row.value,
            "headers": [{"key": name, "value": value} for name, value in row.headers],
        }
        for number, row in enumerate(ROWS)
    ]


def test_rows_before_the_offset_asked_for_are_left_out() -> None:
    columns = batches_to_columns(stored(10) + stored(13), from_offset=12)
    assert columns.column("offset").to_pylist() == [12, 13, 14, 15]
    assert columns.column("value").to_pylist() == [b"", b"a", None, b""]


def test_the_brokers_time_is_told() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME)
    builder.append(None, b"a", timestamp_ms=5)
    builder.append(None, b"b", timestamp_ms=9)
    columns = batches_to_columns(builder.build())
    assert columns.column("timestamp").cast(pa.int64()).to_pylist() == [9, 9]
    assert columns.column("timestamp_type").to_pylist() == [1, 1]


def test_aborted_records_are_no_rows() -> None:
    made = encode_records(ROWS, producer_id=4, is_transactional=True)
    assert batches_to_columns(made, aborted=[AbortedTransaction(4, 0)]).num_rows == 0
    assert batches_to_columns(made).num_rows == 3


def test_nothing_becomes_columns_without_rows() -> None:
    columns = batches_to_columns(b"")
    assert (columns.num_rows, columns.schema) == (0, schema())


@pytest.mark.parametrize("codec", list(Codec))
def test_columns_become_the_same_records_again(codec: Codec) -> None:
    original = stored()
    made = columns_to_batches(batches_to_columns(original), timestamp_ms=0, codec=codec)
    found, expected = (decode_records("t", 0, batches) for batches in (made, original))
    assert [record[:-1] for record in found] == [record[:-1] for record in expected]


def test_a_slice_writes_only_its_own_rows() -> None:
    made = columns_to_batches(batches_to_columns(stored()).slice(1, 1), timestamp_ms=0)
    assert [record[3:8] for record in decode_records("t", 0, made)] == [(1_001, 0, None, None, ())]


def test_a_table_with_strings_and_values_alone_is_enough() -> None:
    table = pa.table({"value": pa.chunked_array([["one"], ["two", None]])})
    found = decode_records("t", 0, columns_to_batches(table, timestamp_ms=77))
    assert [(record.timestamp_ms, record.key, record.value) for record in found] == [
        (77, None, b"one"),
        (77, None, b"two"),
        (77, None, None),
    ]


def test_times_of_other_units_and_missing_ones_are_taken() -> None:
    times = pa.array([1_500_999, None], pa.timestamp("us"))
    table = pa.table({"value": pa.array([b"a", b"b"]), "timestamp": times})
    assert [record.timestamp_ms for record in decode_records("t", 0, columns_to_batches(table, timestamp_ms=7))] == [
        1_500,
        7,
    ]


def test_many_rows_become_several_batches_in_sequence() -> None:
    table = pa.table({"value": pa.array([b"x" * 100] * 50)})
    made = columns_to_batches(
        table, timestamp_ms=0, batch_bytes=1_000, producer_id=3, producer_epoch=1, base_sequence=2**31 - 5
    )
    headers = [header for _, header in iterate_headers(made)]
    assert sum(header.record_count for header in headers) == 50
    assert all(header.size_bytes <= 1_100 for header in headers)
    expected = 2**31 - 5
    for header in headers:
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (3, 1, expected)
        expected = (expected + header.record_count) % 2**31


def test_columns_without_values_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no column 'value' among key"):
        columns_to_batches(pa.table({"key": pa.array([b"k"])}), timestamp_ms=0)


def test_without_pyarrow_the_remedy_is_named() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from ottla.client.columns import batches_to_columns\n"
        "try: batches_to_columns(b'')\n"
        "except ImportError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install '.[arrow]' in a clone of Ottla" in printed
