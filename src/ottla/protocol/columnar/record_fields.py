"""The fields of many records, each as a column, up to the length of the value.

Everything that would lead out of a record is refused, so that code that uses these columns can trust their positions.
"""

from typing import NamedTuple

import numpy as np

from ottla.protocol.columnar.varints import Bools, Bytes, Int64s, read_varints, read_varlongs
from ottla.protocol.records import CorruptRecords


class RecordFields(NamedTuple):
    """One row for each record; a length of -1 stands for a null."""

    timestamp_deltas: Int64s
    offset_deltas: Int64s
    key_starts: Int64s
    key_lengths: Int64s
    value_starts: Int64s
    value_lengths: Int64s


def read_fields(data: Bytes, starts: Int64s, ends: Int64s) -> RecordFields:
    """What the records from `starts` to `ends` hold; their lengths are right already."""
    _, at = read_varints(data, starts)
    # After the attributes.
    timestamp_deltas, at = read_varlongs(data, _inside(at + 1, ends))
    offset_deltas, at = read_varints(data, _inside(at, ends))
    key_lengths, key_starts = read_varints(data, _inside(at, ends))
    key_ends = behind_fields(key_starts, key_lengths, ends, "key")
    value_lengths, value_starts = read_varints(data, key_ends)
    return RecordFields(timestamp_deltas, offset_deltas, key_starts, key_lengths, value_starts, value_lengths)


def behind_fields(starts: Int64s, lengths: Int64s, ends: Int64s, name: str, rows: Int64s | None = None) -> Int64s:
    """Where fields end that begin at `starts`; something must follow each of them before its record ends."""
    refuse(lengths < -1, f"its {name} has a negative length", rows)
    found = starts + np.maximum(lengths, 0)
    refuse(found >= ends, f"its {name} ends beyond it", rows)
    return found


def refuse(is_wrong: Bools, reason: str, rows: Int64s | None = None) -> None:
    """CorruptRecords that names the first of the wrong records, by its number or by that of its row."""
    if is_wrong.any():
        first = int(np.argmax(is_wrong))
        raise CorruptRecords(f"record {first if rows is None else rows[first]} is malformed: {reason}")


def _inside(positions: Int64s, ends: Int64s) -> Int64s:
    refuse(positions >= ends, "its fields end beyond it")
    return positions
