"""Record batches to and from Arrow columns, for readers and writers of many records at a time.

The only module that needs pyarrow (the extra `arrow`), and it imports it when it is called. Columns:

    offset          int64
    timestamp       timestamp[ms, UTC]
    timestamp_type  int8       0 set by the producer, 1 by the broker
    key, value      binary     null where the record has none
    headers         list<struct<key: string, value: binary>>
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ottla.client.batch_writer import BatchWriter
from ottla.client.fetch_request import AbortedTransaction
from ottla.client.record_columns import RecordColumns, split_records
from ottla.client.records import visible_batches
from ottla.protocol.compression import Buffer, Codec
from ottla.protocol.record_batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    TimestampType,
    decompressed_payload,
)
from ottla.protocol.records import Headers

if TYPE_CHECKING:
    import pyarrow as pa

# As large as a producer's request may be by default, and below what topics accept by default.
BATCH_BYTES = 1_000_000


def schema() -> "pa.Schema":
    """The columns of `batches_to_columns`."""
    pa = _pyarrow()
    header = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
    return pa.schema(
        [
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("timestamp_type", pa.int8(), nullable=False),
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("headers", pa.list_(header), nullable=False),
        ]
    )


def batches_to_columns(
    batches: Buffer,
    *,
    from_offset: int = 0,
    until_offset: int | None = None,
    aborted: Sequence[AbortedTransaction] | None = None,
    check_crc: bool = True,
) -> "pa.RecordBatch":
    """The records from an offset on, up to and without another; `aborted` is None for read_uncommitted."""
    pa = _pyarrow()
    offsets, timestamps, types = array("q"), array("q"), array("b")
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    headers: list[Headers] = []
    for position, header in visible_batches(batches, aborted, check_crc=check_crc):
        if header.last_offset < from_offset:
            continue
        columns = split_records(decompressed_payload(batches, header, position), header.record_count)
        _drop_before(columns, from_offset - header.base_offset)
        base = header.base_offset
        offsets.extend([base + delta for delta in columns.offset_deltas])
        timestamps.extend(_timestamps(header, columns))
        types.frombytes(bytes([header.timestamp_type]) * len(columns.keys))
        keys += columns.keys
        values += columns.values
        headers += columns.headers
    form = schema()
    arrays = [
        _from_numbers(pa.int64(), offsets),
        _from_numbers(form.field("timestamp").type, timestamps),
        _from_numbers(pa.int8(), types),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        _headers_column(headers, form.field("headers").type),
    ]
    columns_found = pa.RecordBatch.from_arrays(arrays, schema=form)
    if until_offset is not None and offsets and offsets[-1] >= until_offset:
        columns_found = columns_found.slice(0, bisect_left(offsets, until_offset))
    return columns_found


def columns_to_batches(
    columns: "pa.RecordBatch | pa.Table",
    *,
    timestamp_ms: int,
    codec: Codec = Codec.NONE,
    compression_level: int | None = None,
    batch_bytes: int = BATCH_BYTES,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytes:
    """Batches of the columns `value` and, if there are any, `key`, `timestamp` and `headers`; others are ignored.

    `timestamp_ms` is for rows without a time. Sequences go on from one batch to the next.
    """
    writers = [BatchWriter(codec, compression_level)]
    for timestamp, key, value, headers in _rows(columns, timestamp_ms):
        if writers[-1].count and writers[-1].size_bytes + len(key or b"") + len(value or b"") > batch_bytes:
            writers.append(BatchWriter(codec, compression_level))
        writers[-1].append(timestamp, key, value, headers)
    built = []
    sequence = base_sequence
    for writer in writers:
        if writer.count:
            built.append(writer.build(producer_id, producer_epoch, sequence, is_transactional=is_transactional))
            sequence = sequence if sequence == NO_SEQUENCE else (sequence + writer.count) & MAX_SEQUENCE
    return b"".join(built)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Arrow columns need pyarrow: pip install 'ottla[arrow]'") from error
    return pyarrow


def _drop_before(columns: RecordColumns, delta: int) -> None:
    """Leave out what lies before the offset asked for; only the first batch has any."""
    if delta <= 0:
        return
    start = next((at for at, found in enumerate(columns.offset_deltas) if found >= delta), len(columns.offset_deltas))
    rows: tuple[list[Any], ...] = (
        columns.offset_deltas,
        columns.timestamp_deltas,
        columns.keys,
        columns.values,
        columns.headers,
    )
    for row in rows:
        del row[:start]


def _timestamps(header: BatchHeader, columns: RecordColumns) -> list[int]:
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return [header.max_timestamp] * len(columns.keys)
    base = header.base_timestamp
    return [base + delta for delta in columns.timestamp_deltas]


def _from_numbers(kind: Any, numbers: "array[int]") -> Any:
    pa = _pyarrow()
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def _headers_column(headers: list[Headers], kind: Any) -> Any:
    pa = _pyarrow()
    ends = array("i", [0])
    names: list[str] = []
    values: list[bytes | None] = []
    for row in headers:
        for name, value in row:
            names.append(name)
            values.append(value)
        ends.append(len(names))
    pairs = pa.StructArray.from_arrays(
        [pa.array(names, pa.string()), pa.array(values, pa.binary())], fields=list(kind.value_type)
    )
    return pa.ListArray.from_buffers(kind, len(headers), [None, pa.py_buffer(ends)], children=[pairs])


def _rows(columns: Any, timestamp_ms: int) -> Iterator[tuple[int, bytes | None, bytes | None, Headers]]:
    names = columns.schema.names
    if "value" not in names:
        raise ValueError(f"there is no column 'value' among {', '.join(names) or 'none'}")
    count = columns.num_rows
    values = _binary(columns.column("value"))
    keys = _binary(columns.column("key")) if "key" in names else [None] * count
    times = _times(columns.column("timestamp"), timestamp_ms) if "timestamp" in names else [timestamp_ms] * count
    headers = _headers(columns.column("headers")) if "headers" in names else [()] * count
    return zip(times, keys, values, headers, strict=True)


def _binary(column: Any) -> list[bytes | None]:
    """A binary or string column as bytes, cut out of its buffers."""
    pa = _pyarrow()
    found: list[bytes | None] = []
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        part = chunk.cast(pa.large_binary())
        _, ends_buffer, data_buffer = part.buffers()
        if ends_buffer is None or not len(part):
            continue
        ends = memoryview(ends_buffer).cast("q")[part.offset : part.offset + len(part) + 1].tolist()
        data = data_buffer.to_pybytes() if data_buffer is not None else b""
        cut: list[bytes | None] = [data[start:end] for start, end in pairwise(ends)]
        if part.null_count:
            cut = [None if is_null else value for value, is_null in zip(cut, part.is_null().to_pylist(), strict=True)]
        found += cut
    return found


def _times(column: Any, default_ms: int) -> list[int]:
    pa = _pyarrow()
    kind = column.type
    if pa.types.is_timestamp(kind):
        # Finer units are cut, as Spark does.
        column = column.cast(pa.timestamp("ms", tz=kind.tz), safe=False)
    return [default_ms if value is None else value for value in column.cast(pa.int64()).to_pylist()]


def _headers(column: Any) -> list[Headers]:
    return [tuple((header["key"], header["value"]) for header in row) if row else () for row in column.to_pylist()]
