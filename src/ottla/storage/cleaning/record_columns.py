"""The records of several batches as columns of what decides whether they stay.

This is the inner loop of compaction. Where a record begins is known from the length of the one before, so that is found
step by step; everything else is read for all records at once. Values and headers are not looked at, and records that
stay are copied as bytes. Many small batches are put together, because each step on a column costs the same for ten
records as for a thousand.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ottla.protocol.compression import Buffer
from ottla.protocol.primitives import read_varint
from ottla.protocol.records import CorruptRecords
from ottla.storage.cleaning.key_hashes import READ_AHEAD_BYTES, KeyHashes, hash_keys

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MORE = 0x80
_LOW = 0x7F
_LONGEST_VARINT_BYTES = 10
# Columns are read a little past the last record; what they find there is refused or not used.
_PADDING = bytes(max(READ_AHEAD_BYTES, _LONGEST_VARINT_BYTES))


class Payload(NamedTuple):
    """The decompressed records of one batch."""

    base_offset: int
    record_count: int
    records: Buffer


class RecordColumns:
    """One row for each record; CorruptRecords unless each payload holds exactly the records that it claims."""

    __slots__ = ("bounds", "data", "ends", "has_key", "hashes", "is_tombstone", "offsets", "starts", "timestamp_deltas")

    def __init__(self, payloads: Sequence[Payload]) -> None:
        self.data = b"".join([*(payload.records for payload in payloads), _PADDING])
        # The rows of batch i are those from bounds[i] to bounds[i + 1].
        self.bounds: list[int] = [0]
        starts: list[int] = []
        position = 0
        for payload in payloads:
            end = position + len(payload.records)
            _add_starts(self.data, position, end, payload.record_count, starts)
            self.bounds.append(len(starts))
            position = end
        # Where each record is in the data, its length in front.
        self.starts: Int64s = np.array(starts, np.int64)
        self.ends: Int64s = np.append(self.starts[1:], position)
        self._parse(payloads)

    def __len__(self) -> int:
        return len(self.starts)

    def _parse(self, payloads: Sequence[Payload]) -> None:
        data = np.frombuffer(self.data, np.uint8)
        _, at = _read_varints(data, self.starts)
        # Behind the attributes.
        self.timestamp_deltas, at = _read_varints(data, at + 1)
        offset_deltas, at = _read_varints(data, self._inside(at))
        _refuse(offset_deltas < 0, "its offset is before that of its batch")
        counts = np.diff(self.bounds)
        self.offsets: Int64s = offset_deltas + np.repeat([payload.base_offset for payload in payloads], counts)
        key_lengths, key_starts = _read_varints(data, self._inside(at))
        _refuse(key_lengths < -1, "its key has a negative length")
        self.has_key: Bools = key_lengths >= 0
        key_lengths = np.maximum(key_lengths, 0)
        # A length that is no length must not lead out of the data, nor around its end.
        key_ends = key_starts + np.minimum(key_lengths, len(self.data))
        _refuse(key_ends >= self.ends, "its key ends behind it")
        value_lengths, _ = _read_varints(data, key_ends)
        self.is_tombstone: Bools = value_lengths == -1
        self.hashes: KeyHashes = hash_keys(self.data, key_starts, key_lengths)

    def _inside(self, positions: Int64s) -> Int64s:
        _refuse(positions >= self.ends, "its fields end behind it")
        return positions

    def only(self, rows: Int64s) -> bytes:
        """The bytes of some of the records, one behind the other."""
        data = self.data
        parts = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return b"".join([data[begin:end] for begin, end in parts])


def _add_starts(data: bytes, position: int, end: int, record_count: int, starts: list[int]) -> None:
    """Step from record to record; numbers of one and two bytes, which nearly all lengths are, are read in place."""
    add = starts.append
    try:
        for _ in range(record_count):
            add(position)
            byte = data[position]
            if byte < _MORE:
                position += 1
            elif data[position + 1] < _MORE:
                byte, position = byte & _LOW | data[position + 1] << 7, position + 2
            else:
                length, position = read_varint(data, position)
                byte = length << 1 if length >= 0 else 1
            position += byte >> 1
            if byte & 1 or position > end:
                raise CorruptRecords(f"a record of {byte >> 1} bytes does not fit into its batch")
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"a record has no length: {error}") from error
    if position != end:
        raise CorruptRecords(f"{end - position} bytes follow the last of {record_count} records")


def _read_varints(data: npt.NDArray[np.uint8], positions: Int64s) -> tuple[Int64s, Int64s]:
    """The signed number at each position, and the position behind it."""
    byte = data[positions]
    values = (byte & _LOW).astype(np.uint64)
    after = positions + 1
    longer = np.flatnonzero(byte >= _MORE)
    shift = 7
    while longer.size:
        if shift >= 7 * _LONGEST_VARINT_BYTES:
            raise CorruptRecords("a number of a record has no end")
        byte = data[after[longer]]
        values[longer] |= (byte & _LOW).astype(np.uint64) << np.uint64(shift)
        after[longer] += 1
        longer = longer[byte >= _MORE]
        shift += 7
    signed = (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64)
    return signed, after


def _refuse(is_wrong: Bools, reason: str) -> None:
    if is_wrong.any():
        raise CorruptRecords(f"record {int(np.argmax(is_wrong))} is malformed: {reason}")
