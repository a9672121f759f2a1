"""Binary columns of Arrow: made of pieces of a buffer or of numbers, or taken as they come."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ottla.protocol.columnar.varints import Int64s, Varints, joined_varints
from ottla.protocol.compression import Buffer

Positions = npt.NDArray[np.int32] | Int64s


def binary_column(data: Buffer, starts: Positions, lengths: Positions) -> Any:
    """What is at `starts` in the data, in ascending order and without overlaps; null where the length is negative."""
    count = len(starts)
    is_null = lengths < 0
    if is_null.all():
        return pa.nulls(count, pa.binary())
    # Every other row is wanted, and what lies between two of them is a row as well.
    bounds = np.empty(2 * count, np.int32)
    bounds[0::2] = starts
    bounds[1::2] = starts + np.maximum(lengths, 0)
    rows = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    column = pc.take(rows, pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)), boundscheck=False)
    if not is_null.any():
        return column
    _, ends, content = column.buffers()
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [validity, ends, content])


def varint_column(columns: Sequence[Varints | int]) -> Any:
    """Numbers as the bytes that stand for them, those of a row together."""
    content, sizes = joined_varints(columns)
    bounds = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), [None, pa.py_buffer(bounds), pa.py_buffer(content)])


def binary_values(column: Any, name: str) -> tuple[Any, Int64s]:
    """A binary or string column with positions of 64 bits, nulls made empty, and the lengths of its rows."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    try:
        column = column.cast(pa.large_binary())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise ValueError(f"bytes or text are needed in {name}, not {column.type}: cast it") from error
    lengths = pc.binary_length(column)
    if column.null_count:
        return column.fill_null(b""), lengths.fill_null(-1).to_numpy()
    return column, lengths.to_numpy()
