"""A column of lists of headers as the bytes that follow each record's value, made by Arrow for all headers at once."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ottla.client.columns.binary_columns import binary_values, varint_column
from ottla.protocol.columnar.varints import as_varints

_NOTHING = pa.scalar(b"", pa.large_binary())


def encode_headers(column: Any) -> Any | None:
    """The number of headers and the headers of each row; None if no row has any."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count == len(column):
        return None
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(kind.value_type):
        raise ValueError(f"headers are lists of a key and a value, not {kind}")
    pairs = column.flatten()
    if not len(pairs):
        return None
    counts = pc.list_value_length(column).cast(pa.int64()).fill_null(0).to_numpy()
    bounds = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=bounds[1:])
    lists = pa.LargeListArray.from_arrays(pa.array(bounds), _encode(pairs))
    return _join(varint_column([as_varints(counts)]), pc.binary_join(lists, _NOTHING))


def _encode(pairs: Any) -> Any:
    try:
        fields = [pc.struct_field(pairs, name) for name in ("key", "value")]
    except pa.ArrowInvalid as error:
        raise ValueError(f"headers are lists of a key and a value, not of {pairs.type}") from error
    (names, name_lengths), (values, value_lengths) = (binary_values(field, "headers") for field in fields)
    if name_lengths.min() < 0:
        raise ValueError("a header in the column headers has no key: each needs one, its value may be null")
    return _join(varint_column([as_varints(name_lengths)]), names, varint_column([as_varints(value_lengths)]), values)


def _join(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*parts, _NOTHING)
