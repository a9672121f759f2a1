"""Where the records of a batch lie in its bytes, and which schemas they were written with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from ottla.pipeline.typed.avro_columns import Numbers
from ottla.schemas.framing import ID_BYTES

NO_ID: Final = -1


@dataclass(frozen=True, slots=True)
class FramedBatch:
    """`ids` are NO_ID for records without one in front; `at` is where their data begin, behind it."""

    data: Numbers
    at: Numbers
    end: Numbers
    ids: Numbers


def find_ids(records: pa.Array) -> FramedBatch:
    """Of an array of binary."""
    _, offsets, data = records.buffers()
    ends = np.frombuffer(offsets, np.int32, len(records) + 1, records.offset * 4).astype(np.int64)
    found = np.frombuffer(data if data is not None else b"", np.uint8)
    at, end = ends[:-1], ends[1:]
    ids = np.full(len(records), NO_ID, np.int64)
    is_there = np.asarray(records.is_valid())
    framed = np.flatnonzero(is_there & (end - at >= ID_BYTES))
    if framed.size:
        heads = found[at[framed][:, None] + np.arange(ID_BYTES)].astype(np.int64)
        numbers = heads[:, 1:] @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
        ids[framed] = np.where(heads[:, 0] == 0, numbers, NO_ID)
    return FramedBatch(found, at + ID_BYTES, end, ids)
