"""Record batches into Arrow columns, without a Python object for any record.

All batches of a fetch go through the same few steps on columns. Then Arrow cuts out keys and values: an array lies over
the payload, and of its rows (each key, and what is between it and the next) every other one is taken, which copies them
at the speed of memory.

Batches that are not compressed are read where they are, in the answer of the broker.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ottla.client.columns.binary_columns import binary_column
from ottla.client.columns.header_columns import HEADERS, header_column
from ottla.client.fetch_request import AbortedTransaction
from ottla.client.records import visible_batches
from ottla.protocol.columnar.batch_headers import BatchHeaders, batch_headers
from ottla.protocol.columnar.record_fields import behind_fields, read_fields
from ottla.protocol.columnar.record_starts import record_starts
from ottla.protocol.columnar.varints import Int64s
from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import HEADER_BYTES, decompressed_payload, parse_header
from ottla.protocol.records import CorruptRecords

# Arrow's positions in binary columns have 32 bits.
DATA_BYTES_MAX = 2**31 - 1

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS, nullable=False),
    ]
)


class _Piece(NamedTuple):
    """Batches whose records, decompressed, lie in one buffer."""

    headers: BatchHeaders
    data: Buffer
    begins: Int64s
    ends: Int64s


def nothing() -> Any:
    """Columns without rows."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in SCHEMA], schema=SCHEMA)


def decode(
    batches: Buffer,
    from_offset: int,
    until_offset: int | None,
    aborted: Sequence[AbortedTransaction] | None,
    *,
    check_crc: bool,
    bytes_max: int,
) -> Iterator[Any]:
    """The visible records between two offsets, in pieces of at most `bytes_max`, or of one batch."""
    headers = batch_headers(batches)
    if check_crc:
        headers.check_crcs(batches)
    # A broker may send any offset: no sum here may overflow.
    is_wanted = ~headers.is_control & (headers.base_offsets >= from_offset - headers.last_offset_deltas)
    if until_offset is not None:
        is_wanted &= headers.base_offsets < until_offset
    if aborted:
        visible = [position for position, _ in visible_batches(batches, aborted, check_crc=False)]
        is_wanted &= np.isin(headers.positions, np.array(visible, np.int64))
    headers = headers.at(is_wanted)
    pieces = _decompress if headers.is_compressed.any() else _in_place
    for piece in pieces(batches, headers, bytes_max):
        yield _columns(piece, from_offset, until_offset)


def _in_place(batches: Buffer, headers: BatchHeaders, bytes_max: int) -> Iterator[_Piece]:
    begins, ends = headers.positions + HEADER_BYTES, headers.positions + headers.sizes
    view = memoryview(batches)
    first = 0
    while first < len(headers):
        begin = int(begins[first])
        last = max(int(np.searchsorted(ends, begin + bytes_max, side="right")), first + 1)
        rows = slice(first, last)
        yield _Piece(headers.at(rows), view[begin : int(ends[last - 1])], begins[rows] - begin, ends[rows] - begin)
        first = last


def _decompress(batches: Buffer, headers: BatchHeaders, bytes_max: int) -> Iterator[_Piece]:
    payloads: list[Buffer] = []
    first = size = 0
    for row, position in enumerate(headers.positions.tolist()):
        payload = decompressed_payload(batches, parse_header(batches, position), position)
        if payloads and size + len(payload) > bytes_max:
            yield _join(payloads, headers.at(slice(first, row)))
            payloads, first, size = [], row, 0
        payloads.append(payload)
        size += len(payload)
    if payloads:
        yield _join(payloads, headers.at(slice(first, len(headers))))


def _join(payloads: list[Buffer], headers: BatchHeaders) -> _Piece:
    ends = np.cumsum([len(payload) for payload in payloads], dtype=np.int64)
    data = payloads[0] if len(payloads) == 1 else b"".join(payloads)
    return _Piece(headers, data, np.append(0, ends[:-1]), ends)


def _columns(piece: _Piece, from_offset: int, until_offset: int | None) -> Any:
    headers, data = piece.headers, piece.data
    counts = np.maximum(headers.record_counts, 0)
    if (has_more := (counts == 0) & (piece.ends > piece.begins)).any():
        wrong = int(np.argmax(has_more))
        raise CorruptRecords(f"{int((piece.ends - piece.begins)[wrong])} bytes follow the last of 0 records")
    starts = record_starts(data, piece.begins, piece.ends, counts)
    if not len(starts):
        return nothing()
    ends = np.append(starts[1:], 0)
    ends[np.cumsum(counts)[counts > 0] - 1] = piece.ends[counts > 0]
    octets = np.frombuffer(data, np.uint8)
    fields = read_fields(octets, starts, ends)
    offsets = np.repeat(headers.base_offsets, counts) + fields.offset_deltas
    timestamps = np.repeat(headers.base_timestamps, counts) + fields.timestamp_deltas
    kinds = np.repeat(headers.is_log_append_time, counts)
    if kinds.any():
        timestamps = np.where(kinds, np.repeat(headers.max_timestamps, counts), timestamps)
    value_ends = behind_fields(fields.value_starts, fields.value_lengths, ends, "value")
    record_headers = header_column(data, value_ends, ends)
    is_wanted = offsets >= from_offset
    if until_offset is not None:
        is_wanted &= offsets < until_offset
    rows: Int64s | slice = slice(None)
    if not is_wanted.all():
        rows = np.flatnonzero(is_wanted)
        record_headers = record_headers.take(pa.array(rows))
    arrays = [
        pa.array(offsets[rows]),
        pa.array(timestamps[rows]).view(SCHEMA.field("timestamp").type),
        pa.array(kinds[rows].astype(np.int8)),
        binary_column(data, fields.key_starts[rows], fields.key_lengths[rows]),
        binary_column(data, fields.value_starts[rows], fields.value_lengths[rows]),
        record_headers,
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
