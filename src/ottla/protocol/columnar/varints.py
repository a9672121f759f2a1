"""Zigzag varints of a whole column: read where they are in a buffer, or written side by side.

Nearly all numbers of a record take one or two bytes, so these are computed for all rows alike; the few longer ones are
read byte by byte, all of them together.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ottla.protocol.records import CorruptRecords

Bytes = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MORE = 0x80
LOW = 0x7F
VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10


def read_varints(data: Bytes, positions: Int64s) -> tuple[Int64s, Int64s]:
    """Read the number of at most 32 bits at each position, and the position after it; CorruptRecords if none is."""
    return _read(data, positions, VARINT_BYTES_MAX)


def read_varlongs(data: Bytes, positions: Int64s) -> tuple[Int64s, Int64s]:
    """The same for numbers of 64 bits."""
    return _read(data, positions, VARLONG_BYTES_MAX)


def _read(data: Bytes, positions: Int64s, bytes_max: int) -> tuple[Int64s, Int64s]:
    try:
        low = data.take(positions)
        if low.max(initial=0) < MORE:
            return _signed(low.astype(np.int16)).astype(np.int64), positions + 1
        after = positions + 1
        # At the end of the data a second byte is not there; where the first one says that it should be, it is `longer`.
        high = data.take(after, mode="clip")
        has_more = low >= MORE
        pairs = (low & LOW).astype(np.int16)
        pairs |= np.where(has_more, high & LOW, 0).astype(np.int16) << np.int16(7)
        values = _signed(pairs).astype(np.int64)
        after += has_more
        longer = np.flatnonzero(has_more & (high >= MORE))
        if longer.size:
            values[longer], after[longer] = _read_long(data, positions[longer], bytes_max)
    except IndexError:
        raise CorruptRecords("a number of a record is cut off by the end of its batch") from None
    return values, after


def _read_long(data: Bytes, positions: Int64s, bytes_max: int) -> tuple[Int64s, Int64s]:
    values = np.zeros(len(positions), np.uint64)
    after = positions.copy()
    going_on = np.arange(len(positions))
    for number in range(bytes_max):
        byte = data[after[going_on]]
        values[going_on] |= (byte & LOW).astype(np.uint64) << np.uint64(7 * number)
        after[going_on] += 1
        going_on = going_on[byte >= MORE]
        if not going_on.size:
            break
    if going_on.size:
        raise CorruptRecords("a number of a record has no end")
    if bytes_max == VARINT_BYTES_MAX and values.max() > 0xFFFFFFFF:
        raise CorruptRecords("a number of a record is longer than 32 bits")
    return (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64), after


def _signed(pairs: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    return (pairs >> np.int16(1)) ^ -(pairs & np.int16(1))


class Varints(NamedTuple):
    """A column of encoded numbers: what each adds up to before it is cut into bytes, and how many bytes that makes."""

    zigzag: npt.NDArray[np.uint64]
    sizes: Int64s


def as_varints(numbers: Int64s) -> Varints:
    """How numbers are written."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    sizes = np.ones(len(numbers), np.int64)
    highest = int(zigzag.max(initial=0))
    bits = 7
    while highest >> bits:
        sizes += zigzag >= np.uint64(1 << bits)
        bits += 7
    return Varints(zigzag, sizes)


def joined_varints(columns: Sequence[Varints | int]) -> tuple[Bytes, Int64s]:
    """The bytes of several columns, row after row, and how many each row takes; a number stands for one byte in each.

    Every row is written as wide as the widest, and what is too much is left out at the end.
    """
    rows = max(len(column.sizes) for column in columns if not isinstance(column, int))
    widths = [1 if isinstance(column, int) else int(column.sizes.max(initial=1)) for column in columns]
    table = np.empty((rows, sum(widths)), np.uint8)
    wanted = np.ones(table.shape, np.bool_)
    sizes = np.zeros(rows, np.int64)
    at = 0
    for column, width in zip(columns, widths, strict=True):
        if isinstance(column, int):
            table[:, at] = column
            sizes += 1
        else:
            sizes += column.sizes
            _write(column, width, table[:, at : at + width], wanted[:, at : at + width])
        at += width
    if int(sizes.sum()) == table.size:
        return table.reshape(-1), sizes
    return table[wanted], sizes


def _write(column: Varints, width: int, table: Bytes, wanted: Bools) -> None:
    rest = column.zigzag
    for number in range(width):
        byte = (rest & np.uint64(LOW)).astype(np.uint8)
        if number + 1 < width:
            byte |= (column.sizes > number + 1).astype(np.uint8) << np.uint8(7)
            rest = rest >> np.uint64(7)
        table[:, number] = byte
        if number:
            np.greater(column.sizes, number, out=wanted[:, number])
