import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from ottla.client.columns import batches_to_columns
from ottla.client.records import NewRecord, encode_records
from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.row_schema import RowMaker, check_schema, spark_schema


def test_columns_become_rows_of_sparks_schema() -> None:
    made = encode_records([NewRecord(b"a", b"k", 1_700_000_000_123, (("h", b"1"), ("h", None))), NewRecord(None)])
    rows = RowMaker(include_headers=True).rows("topic", 7, batches_to_columns(made))
    first, second = rows.to_pylist()
    assert first.pop("timestamp").timestamp() == 1_700_000_000.123
    assert first == {
        "key": b"k",
        "value": b"a",
        "topic": "topic",
        "partition": 7,
        "offset": 0,
        "timestampType": 0,
        "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}],
    }
    assert (second["key"], second["value"], second["offset"], second["headers"]) == (None, None, 1, None)
    assert rows.schema.field("timestamp").type == pa.timestamp("us", tz="UTC")


def test_rows_that_were_cut_keep_their_own_headers() -> None:
    made = encode_records([NewRecord(b"%d" % n, headers=(("n", b"%d" % n),) * n) for n in range(6)])
    columns = batches_to_columns(made, from_offset=2, until_offset=5)
    rows = RowMaker(include_headers=True).rows("t", 0, columns.slice(1))
    assert [(row["value"], len(row["headers"])) for row in rows.to_pylist()] == [(b"3", 3), (b"4", 4)]


def test_what_is_the_same_in_every_row_is_cut_to_length() -> None:
    maker = RowMaker(include_headers=False)
    for count in (5, 2, 9):
        columns = batches_to_columns(encode_records([NewRecord(b"v") for _ in range(count)]))
        rows = maker.rows("t", 3, columns)
        assert rows.column("topic").to_pylist() == ["t"] * count
        assert rows.column("partition").to_pylist() == [3] * count


def test_a_schema_of_somebody_else_is_refused() -> None:
    check_schema(spark_schema(include_headers=False), include_headers=False)
    with pytest.raises(OptionError, match=r"takes no schema: leave out .schema"):
        check_schema(StructType([StructField("value", StringType())]), include_headers=False)
