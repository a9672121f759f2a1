"""The headers of many records as a column of lists.

Most records have none, which one look at a column tells. Otherwise the first headers of all records are read together,
then the second ones, and so on; a record with very many is read to its end by itself.
"""

from array import array
from typing import Any

import numpy as np
import pyarrow as pa

from ottla.client.columns.binary_columns import binary_column
from ottla.protocol.columnar.record_fields import behind_fields, refuse
from ottla.protocol.columnar.varints import Bytes, Int64s, read_varints
from ottla.protocol.compression import Buffer
from ottla.protocol.primitives import read_varint
from ottla.protocol.records import CorruptRecords

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))

# A header takes two bytes at least.
_HEADER_BYTES_MIN = 2
# How many headers are read together before the records that have more are read one by one.
_TOGETHER_MAX = 32


def header_column(data: Buffer, positions: Int64s, ends: Int64s) -> Any:
    """The lists at `positions`, each of which ends with its record; CorruptRecords if one does not."""
    octets = np.frombuffer(data, np.uint8)
    if not octets.take(positions).any():
        refuse(positions + 1 != ends, "its fields end before it does")
        return _lists(np.zeros(len(positions) + 1, np.int32), _pairs(data, _Fields(0)))
    counts, at = read_varints(octets, positions)
    refuse((counts < 0) | (counts > (ends - at) // _HEADER_BYTES_MIN), "it cannot have so many headers")
    bounds = np.append(0, np.cumsum(counts))
    fields = _Fields(int(bounds[-1]))
    for number in range(min(int(counts.max()), _TOGETHER_MAX)):
        rows = np.flatnonzero(counts > number)
        at[rows] = _read(octets, at[rows], ends[rows], rows, fields, bounds[rows] + number)
    for row in np.flatnonzero(counts > _TOGETHER_MAX).tolist():
        slots = slice(int(bounds[row]) + _TOGETHER_MAX, int(bounds[row + 1]))
        at[row] = _read_row(data, int(at[row]), int(ends[row]), row, fields, slots)
    refuse(at != ends, "its headers end before it does")
    return _lists(bounds.astype(np.int32), _pairs(data, fields))


class _Fields:
    """One row for each header of all records."""

    __slots__ = ("name_lengths", "name_starts", "value_lengths", "value_starts")

    def __init__(self, count: int) -> None:
        # Positions in the data; 32 bits, because there may be as many as half its bytes.
        self.name_starts = np.zeros(count, np.int32)
        self.name_lengths = np.zeros(count, np.int32)
        self.value_starts = np.zeros(count, np.int32)
        self.value_lengths = np.zeros(count, np.int32)


def _read(octets: Bytes, at: Int64s, ends: Int64s, rows: Int64s, fields: _Fields, slots: Int64s) -> Int64s:
    """The next header of each record; where they end."""
    refuse(at >= ends, "its headers end beyond it", rows)
    name_lengths, name_starts = read_varints(octets, at)
    refuse(name_lengths < 0, "a header has no name", rows)
    name_ends = behind_fields(name_starts, name_lengths, ends, "header", rows)
    value_lengths, value_starts = read_varints(octets, name_ends)
    # The last header ends where its record does.
    value_ends = behind_fields(value_starts, value_lengths, ends + 1, "header", rows)
    fields.name_starts[slots] = name_starts
    fields.name_lengths[slots] = name_lengths
    fields.value_starts[slots] = value_starts
    fields.value_lengths[slots] = value_lengths
    return value_ends


def _read_row(data: Buffer, at: int, end: int, row: int, fields: _Fields, slots: slice) -> int:
    found = [array("i"), array("i"), array("i"), array("i")]
    try:
        for _ in range(slots.start, slots.stop):
            name_length, name_start = read_varint(data, at)
            value_length, value_start = read_varint(data, name_start + name_length)
            at = value_start + max(value_length, 0)
            if name_length < 0 or value_length < -1 or at > end:
                raise ValueError("a header ends beyond it")
            for column, number in zip(found, (name_start, name_length, value_start, value_length), strict=True):
                column.append(number)
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"record {row} is malformed: {error}") from error
    fields.name_starts[slots], fields.name_lengths[slots] = found[0], found[1]
    fields.value_starts[slots], fields.value_lengths[slots] = found[2], found[3]
    return at


def _pairs(data: Buffer, fields: _Fields) -> Any:
    names = binary_column(data, fields.name_starts, fields.name_lengths)
    values = binary_column(data, fields.value_starts, fields.value_lengths)
    try:
        names = names.cast(pa.string())
    except pa.ArrowInvalid:
        # A name that is not UTF-8 cannot be refused any more: it is shown as Kafka's own clients show it.
        names = pa.array([name.decode(errors="replace") for name in names.to_pylist()], pa.string())
    return pa.StructArray.from_arrays([names, values], fields=list(HEADERS.value_type))


def _lists(bounds: Any, pairs: Any) -> Any:
    return pa.ListArray.from_buffers(HEADERS, len(bounds) - 1, [None, pa.py_buffer(bounds)], children=[pairs])
