"""All records of a batch, decoded at once: field after field for every record, and not record after record.

Each record has a place in the batch's bytes at which its next field begins. A field is read from all of these places by
a few operations on whole arrays, which move them on; a branch of a union is read from the places that have it. So a
record costs a tenth of what a decoder in C takes that makes Python's objects of it.

This decides nothing about bad records. A record is given up where anything about it is odd, and its row is left to the
decoder of single records, which says what is wrong, or reads it. Schemas with arrays, maps, other unions than those
with null, decimals or UUIDs are left to that one as a whole, and so are records of another schema than the reader's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.schemas.avro.logical_types import logical_type_of
from ottla.schemas.avro.model import AvroType, Document, Enum, Fixed, Primitive, Record, Union

Numbers: TypeAlias = NDArray[Any]
# The places move on, and the result is as long as they are.
Read = Callable[["Places"], pa.Array]

_VARINT_SHIFT_MAX: Final = 63
_BATCH_BYTES_MAX: Final = (1 << 31) - 1
# The first and the last day and microsecond that Python has, since 1970: others are for the decoder of single records.
_DAYS: Final = (-719_162, 2_932_896)
_MICROS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_DAY_MS: Final = 86_400_000
# How many microseconds the unit of a logical type has.
_TIMES: Final = {
    "timestamp-millis": 1000,
    "timestamp-micros": 1,
    "local-timestamp-millis": 1000,
    "local-timestamp-micros": 1,
}
_DAY_TIMES: Final = {"time-millis": _DAY_MS, "time-micros": _DAY_MS * 1000}
_FLOATS: Final[dict[str, np.dtype[Any]]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}


class _Unsupported(Exception):
    """A type that is read record by record."""


@dataclass(slots=True)
class Places:
    """Where in `data` each record is; those that are given up have `is_odd`."""

    data: Numbers
    at: Numbers
    end: Numbers
    is_odd: Numbers

    def part(self, which: Numbers) -> Places:
        return Places(self.data, self.at[which], self.end[which], self.is_odd[which])

    def merge(self, which: Numbers, part: Places) -> None:
        self.at[which] = part.at
        self.is_odd[which] = part.is_odd

    def give_up(self, which: Numbers) -> None:
        """What is odd stands still, so that it cannot lead anywhere."""
        self.is_odd |= which
        self.at = np.where(self.is_odd, self.end, self.at)

    def bytes_at(self, at: Numbers) -> Numbers:
        """What lies behind the batch is given up later; here it is any byte."""
        found: Numbers = self.data[np.minimum(at, len(self.data) - 1)]
        return found

    def take(self, width: int) -> Numbers:
        """So many bytes of each record, which are few, as a row."""
        rows = self.bytes_at(self.at[:, None] + np.arange(width))
        self.at = self.at + width
        self.give_up(self.at > self.end)
        return rows

    def take_longs(self) -> Numbers:
        byte = self.bytes_at(self.at)
        self.at = self.at + 1
        numbers = (byte & 0x7F).astype(np.uint64)
        more = np.flatnonzero(byte >= 0x80)
        is_long = np.zeros(len(self.at), bool)
        for shift in range(7, _VARINT_SHIFT_MAX + 1, 7):
            if not more.size:
                break
            byte = self.bytes_at(self.at[more])
            self.at[more] += 1
            numbers[more] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
            if shift == _VARINT_SHIFT_MAX:
                # In the last byte there is room for one bit.
                is_long[more[byte > 1]] = True
            more = more[byte >= 0x80]
        self.give_up((self.at > self.end) | is_long)
        return (numbers >> np.uint64(1)).astype(np.int64) ^ -(numbers & np.uint64(1)).astype(np.int64)

    def take_longs_within(self, low: int, high: int) -> Numbers:
        numbers = self.take_longs()
        self.give_up((numbers < low) | (numbers > high))
        return np.where(self.is_odd, low, numbers)

    def take_texts(self) -> pa.Array:
        """Bytes that come after their number."""
        return self.take_bytes(self.take_longs_within(0, _BATCH_BYTES_MAX))

    def take_bytes(self, lengths: Numbers) -> pa.Array:
        starts = self.at
        self.at = self.at + lengths
        self.give_up(self.at > self.end)
        lengths = np.where(self.is_odd, 0, lengths)
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        if total > _BATCH_BYTES_MAX:
            raise OverflowError(f"{total} bytes are too many for a column")
        where = np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data[where])]
        return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


class BatchColumns:
    """Reads records of one schema as a column."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def read(self, data: Numbers, at: Numbers, end: Numbers) -> tuple[pa.Array, Numbers]:
        """The values of records that lie from `at` to `end`, and which of them are none.

        pa.ArrowInvalid if a text is not UTF-8, of whichever record.
        """
        places = Places(data, at, end, at > end)
        values = self._read(places)
        return values, places.is_odd | (places.at != places.end)


def batch_columns(document: Document, arrow_type: pa.DataType) -> BatchColumns | None:
    """None for a schema that has to be read record by record. `arrow_type` is that of the schema's kind."""
    try:
        return BatchColumns(_Maker(document).make(document.root, arrow_type))
    except _Unsupported:
        return None


class _Maker:
    def __init__(self, document: Document) -> None:
        self._document = document

    def make(self, one: AvroType, arrow_type: pa.DataType) -> Read:
        definite = self._document.resolve(one)
        match definite:
            case Record():
                return self._record(definite, arrow_type)
            case Union():
                return self._optional(definite, arrow_type)
            case Enum():
                return _enum_reader(definite)
            case Fixed() if logical_type_of(definite) is None and definite.size:
                return _fixed_reader(definite.size)
            case Primitive():
                return _primitive_reader(definite, arrow_type)
        raise _Unsupported

    def _record(self, record: Record, arrow_type: pa.DataType) -> Read:
        fields = list(arrow_type)
        if not fields:
            raise _Unsupported
        readers = [self.make(one.type, field.type) for one, field in zip(record.fields, fields, strict=True)]
        return lambda places: pa.StructArray.from_arrays([read(places) for read in readers], fields=fields)

    def _optional(self, union: Union, arrow_type: pa.DataType) -> Read:
        branches = [self._document.resolve(branch) for branch in union.branches]
        there = [index for index, branch in enumerate(branches) if branch.kind != "null"]
        if len(branches) != 2 or len(there) != 1:
            raise _Unsupported
        read_value = self.make(branches[there[0]], arrow_type)

        def read(places: Places) -> pa.Array:
            is_there = places.take_longs_within(0, 1) == there[0]
            which = np.flatnonzero(is_there)
            part = places.part(which)
            values = read_value(part)
            places.merge(which, part)
            return values.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))

        return read


def _enum_reader(enum: Enum) -> Read:
    symbols = pa.array(enum.symbols, pa.string())
    return lambda places: symbols.take(pa.array(places.take_longs_within(0, len(symbols) - 1)))


def _fixed_reader(size: int) -> Read:
    return lambda places: places.take_bytes(np.full(len(places.at), size))


def _primitive_reader(one: Primitive, arrow_type: pa.DataType) -> Read:
    logical = logical_type_of(one)
    if logical in ("uuid", "decimal"):
        raise _Unsupported
    if logical in _TIMES:
        micros_per_unit = _TIMES[logical]
        low, high = (limit // micros_per_unit for limit in _MICROS)
        return lambda places: pa.array(places.take_longs_within(low, high) * micros_per_unit).cast(arrow_type)
    if logical in _DAY_TIMES:
        last = _DAY_TIMES[logical] - 1
        return lambda places: pa.array(places.take_longs_within(0, last)).cast(arrow_type)
    if logical == "date":
        return lambda places: pa.array(places.take_longs_within(*_DAYS).astype(np.int32)).cast(arrow_type)
    match one.kind:
        case "int":
            return lambda places: pa.array(places.take_longs_within(-(1 << 31), (1 << 31) - 1).astype(np.int32))
        case "long":
            return lambda places: pa.array(places.take_longs())
        case "float" | "double":
            kind = _FLOATS[one.kind]
            return lambda places: pa.array(np.ascontiguousarray(places.take(kind.itemsize)).view(kind)[:, 0])
        case "boolean":
            return _read_flags
        case "string":
            return lambda places: places.take_texts().cast(pa.string())
        case "bytes":
            return Places.take_texts
    raise _Unsupported


def _read_flags(places: Places) -> pa.Array:
    flags = places.take(1)[:, 0]
    places.give_up(flags > 1)
    return pa.array(flags == 1)
