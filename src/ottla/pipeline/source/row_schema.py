"""The columns of a source, those of Spark's Kafka connector, and record batches in that form."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ottla.pipeline.errors import OptionError

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_FIELDS = (
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
)


def spark_schema(*, include_headers: bool) -> StructType:
    """What Spark is told."""
    return StructType([*_FIELDS, *([StructField("headers", ArrayType(_HEADER))] if include_headers else [])])


def check_schema(given: StructType, *, include_headers: bool) -> None:
    """Refuse a schema of the user's own, which Spark allows but this source cannot follow."""
    expected = spark_schema(include_headers=include_headers)
    if [(field.name, field.dataType) for field in given] != [(field.name, field.dataType) for field in expected]:
        raise OptionError(
            f"this source has the columns {', '.join(expected.names)}, and takes no schema: leave out .schema(...), "
            "and select and cast afterwards"
        )


class RowMaker:
    """Makes Spark's columns from `ottla.client.columns`; what is the same in every row is made once and sliced."""

    def __init__(self, *, include_headers: bool) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._schema = to_arrow_schema(spark_schema(include_headers=include_headers), timezone="UTC")
        self._include_headers = include_headers
        self._topics: dict[str, pa.Array] = {}
        self._partitions: dict[int, pa.Array] = {}

    def rows(self, topic: str, partition: int, columns: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of some records of one partition."""
        count = columns.num_rows
        arrays: Sequence[pa.Array] = [
            columns.column("key"),
            columns.column("value"),
            self._topic(topic, count),
            self._partition(partition, count),
            columns.column("offset"),
            columns.column("timestamp").cast(self._schema.field("timestamp").type),
            columns.column("timestamp_type").cast(pa.int32()),
        ]
        if self._include_headers:
            arrays = [*arrays, self._headers(columns.column("headers"))]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _topic(self, topic: str, count: int) -> pa.Array:
        made = self._topics.get(topic)
        if made is None or len(made) < count:
            made = self._topics[topic] = pa.repeat(pa.scalar(topic, pa.string()), count)
        return made.slice(0, count)

    def _partition(self, partition: int, count: int) -> pa.Array:
        made = self._partitions.get(partition)
        if made is None or len(made) < count:
            made = self._partitions[partition] = pa.repeat(pa.scalar(partition, pa.int32()), count)
        return made.slice(0, count)

    def _headers(self, column: pa.ListArray) -> pa.Array:
        """Use Spark's names inside the list, and null for a record without headers, as Spark's connector does."""
        kind = self._schema.field("headers").type
        pairs = pa.StructArray.from_arrays(column.flatten().flatten(), fields=list(kind.value_type))
        # The rows may be cut out of more of them, and then their first pair is not the first one.
        ends = pc.subtract(column.offsets, column.offsets[0])
        is_empty = pc.equal(pc.list_value_length(column), 0)
        return pa.ListArray.from_arrays(ends, pairs, type=kind, mask=is_empty)
