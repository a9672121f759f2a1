"""Arrow columns into record batches, without a Python object for any record.

That is why this is not `BatchBuilder`, which works on one record at a time; a property test keeps their bytes equal.
Lengths and deltas become bytes as columns of numbers, and one function of Arrow joins them with keys and values, row by
row: the buffer behind its result is the payload of all batches, one after the other. (Laying all parts into one array
and taking them in turns is a little faster for small records, and slower for large ones, because it copies them twice.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ottla.client.columns.binary_columns import binary_values, varint_column
from ottla.client.columns.header_encoding import encode_headers
from ottla.protocol.columnar.varints import Int64s, Varints, as_varints
from ottla.protocol.compression import Codec, compress
from ottla.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC,
    MAX_SEQUENCE,
    NO_LEADER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    encode_header,
)

# Records are encoded in groups of this size, so that what lies between columns and batches stays small.
_GROUP_BYTES = 16 * 1024 * 1024
_NO_HEADERS = b"\0"
_ATTRIBUTES = 0
_PAYLOAD_BYTES_MAX = 2**31 - 1 - HEADER_BYTES


@dataclass(frozen=True, slots=True)
class BatchForm:
    """What all batches of a call have in common."""

    codec: Codec
    compression_level: int | None
    batch_bytes: int
    producer_id: int
    producer_epoch: int
    is_transactional: bool


class _Rows(NamedTuple):
    """The columns of records to be made; the lengths are -1 for nulls."""

    timestamps: Int64s
    keys: Any
    key_lengths: Int64s
    values: Any
    value_lengths: Int64s
    # What follows the value; None if no record has headers.
    headers: Any | None
    header_lengths: Int64s

    def part(self, first: int, last: int) -> "_Rows":
        rows = slice(first, last)
        return _Rows(
            self.timestamps[rows],
            self.keys.slice(first, last - first),
            self.key_lengths[rows],
            self.values.slice(first, last - first),
            self.value_lengths[rows],
            None if self.headers is None else self.headers.slice(first, last - first),
            self.header_lengths[rows],
        )


def encode(columns: Any, timestamp_ms: int, base_sequence: int, form: BatchForm) -> Iterator[bytes | memoryview]:
    """The batches in order, each in one piece or several."""
    rows = _rows(columns, timestamp_ms)
    if not len(rows.timestamps):
        return
    sizes = _size_bounds(rows)
    bounds = _batch_bounds(sizes, form.batch_bytes - HEADER_BYTES)
    ends_bytes = np.cumsum(sizes)[bounds[1:] - 1]
    sequence = base_sequence
    first = 0
    while first < len(bounds) - 1:
        before = int(ends_bytes[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends_bytes, before + _GROUP_BYTES, side="right")), first + 1)
        group = bounds[first : last + 1] - bounds[first]
        yield from _batches(rows.part(int(bounds[first]), int(bounds[last])), group, sequence, form)
        if sequence != NO_SEQUENCE:
            sequence = (sequence + int(group[-1])) & MAX_SEQUENCE
        first = last


def _rows(columns: Any, timestamp_ms: int) -> _Rows:
    names = columns.schema.names
    if "value" not in names:
        raise ValueError(f"there is no column 'value' among {', '.join(names) or 'none'}")
    count = columns.num_rows
    values, value_lengths = binary_values(columns.column("value"), "value")
    keys = columns.column("key") if "key" in names else pa.nulls(count, pa.binary())
    keys, key_lengths = binary_values(keys, "key")
    headers, header_lengths = None, np.ones(count, np.int64)
    if "headers" in names and (found := encode_headers(columns.column("headers"))) is not None:
        headers, header_lengths = binary_values(found, "headers")
    times = (
        _times(columns.column("timestamp"), timestamp_ms)
        if "timestamp" in names
        else np.full(count, timestamp_ms, np.int64)
    )
    return _Rows(times, keys, key_lengths, values, value_lengths, headers, header_lengths)


def _times(column: Any, default_ms: int) -> Int64s:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_timestamp(kind):
        # Finer units are cut, as Spark does.
        column = column.cast(pa.timestamp("ms", tz=kind.tz), safe=False)
    times: Int64s = column.cast(pa.int64()).fill_null(default_ms).to_numpy()
    return times


def _size_bounds(rows: _Rows) -> Int64s:
    """The most bytes that each record can take, whichever batch it lands in.

    Where batches begin depends on how long the records are, and the deltas in a record on where its batch begins. So
    deltas are counted at their longest, which is a few bytes too many.
    """
    spread = int(rows.timestamps.max()) - int(rows.timestamps.min())
    deltas = as_varints(np.array([min(spread, 2**62), len(rows.timestamps)])).sizes.sum()
    body = 1 + deltas + rows.header_lengths
    for lengths in (rows.key_lengths, rows.value_lengths):
        body = body + as_varints(lengths).sizes + np.maximum(lengths, 0)
    bounds: Int64s = body + as_varints(body).sizes
    return bounds


def _batch_bounds(sizes: Int64s, payload_bytes: int) -> Int64s:
    """The first row of each batch, and the number of rows."""
    ends = np.cumsum(sizes)
    bounds = [0]
    while bounds[-1] < len(sizes):
        first = bounds[-1]
        before = ends[first - 1] if first else 0
        bounds.append(max(int(np.searchsorted(ends, before + payload_bytes, side="right")), first + 1))
    return np.array(bounds)


def _batches(rows: _Rows, bounds: Int64s, sequence: int, form: BatchForm) -> Iterator[bytes | memoryview]:
    counts = np.diff(bounds)
    payload, ends = _payload(rows, bounds)
    columns = zip(
        np.append(0, ends[bounds[1:-1] - 1]).tolist(),
        ends[bounds[1:] - 1].tolist(),
        counts.tolist(),
        rows.timestamps[bounds[:-1]].tolist(),
        np.maximum.reduceat(rows.timestamps, bounds[:-1]).tolist(),
        strict=True,
    )
    for begin, end, count, base_timestamp, max_timestamp in columns:
        records: bytes | memoryview = payload[begin:end]
        if form.codec is not Codec.NONE:
            records = compress(form.codec, records, form.compression_level)
        yield _header(records, count, base_timestamp, max_timestamp, sequence, form)
        yield records
        if sequence != NO_SEQUENCE:
            sequence = (sequence + count) & MAX_SEQUENCE


def _payload(rows: _Rows, bounds: Int64s) -> tuple[memoryview, Int64s]:
    """The records of all batches, one after the other, and where each of them ends."""
    counts = np.diff(bounds)
    firsts = np.repeat(bounds[:-1], counts)
    timestamp_deltas = as_varints(rows.timestamps - rows.timestamps[firsts])
    offset_deltas = as_varints(np.arange(len(firsts)) - firsts)
    key_lengths, value_lengths = as_varints(rows.key_lengths), as_varints(rows.value_lengths)
    body = 1 + timestamp_deltas.sizes + offset_deltas.sizes + key_lengths.sizes + value_lengths.sizes
    body += np.maximum(rows.key_lengths, 0)
    body += np.maximum(rows.value_lengths, 0)
    body += rows.header_lengths
    lengths = as_varints(body)
    before: list[Varints | int] = [lengths, _ATTRIBUTES, timestamp_deltas, offset_deltas, key_lengths]
    tail = pa.scalar(_NO_HEADERS, pa.large_binary()) if rows.headers is None else rows.headers
    if rows.key_lengths.max() <= 0:
        parts = [varint_column([*before, value_lengths]), rows.values, tail]
    else:
        parts = [varint_column(before), rows.keys, varint_column([value_lengths]), rows.values, tail]
    records = pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))
    ends = np.cumsum(body + lengths.sizes)
    return memoryview(records.buffers()[2])[: int(ends[-1])], ends


def _header(
    records: bytes | memoryview, count: int, base_timestamp: int, max_timestamp: int, sequence: int, form: BatchForm
) -> bytes:
    if len(records) > _PAYLOAD_BYTES_MAX:
        raise ValueError(f"a record of {len(records)} bytes is more than a batch can hold, {_PAYLOAD_BYTES_MAX} bytes")
    header = BatchHeader(
        0,
        0,
        NO_LEADER_EPOCH,
        MAGIC,
        0,
        form.codec | (TRANSACTIONAL_FLAG if form.is_transactional else 0),
        count - 1,
        base_timestamp,
        max_timestamp,
        form.producer_id,
        form.producer_epoch,
        sequence,
        count,
    )
    return encode_header(header, records)
