"""The headers of many batches as columns: a batch with one record costs no more than the record."""

import struct
from array import array

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from ottla.protocol.columnar.varints import Bools, Int64s
from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_POSITION,
    MIN_BATCH_LENGTH,
    BatchHeader,
    iterate_headers,
    parse_header,
)
from ottla.protocol.records import CorruptRecords

# In the order of `BatchHeader`, and of the bytes.
_TYPES = ("i8", "i4", "i4", "i1", "u4", "i2", "i4", "i8", "i8", "i8", "i2", "i4", "i4")
_FORM = np.dtype([(name, f">{kind}") for name, kind in zip(BatchHeader._fields, _TYPES, strict=True)])
_LENGTH = struct.Struct(">i")
_LENGTH_POSITION = 8


class BatchHeaders:
    """One row for each batch."""

    __slots__ = ("_rows", "positions", "sizes")

    def __init__(self, rows: "npt.NDArray[np.void]", positions: Int64s) -> None:
        self._rows = rows
        self.positions = positions
        self.sizes: Int64s = self._column("batch_length") + LOG_OVERHEAD_BYTES

    def __len__(self) -> int:
        return len(self.positions)

    def at(self, rows: Int64s | Bools | slice) -> "BatchHeaders":
        """Those of some rows."""
        return BatchHeaders(self._rows[rows], self.positions[rows])

    @property
    def base_offsets(self) -> Int64s:
        return self._column("base_offset")

    @property
    def last_offset_deltas(self) -> Int64s:
        return self._column("last_offset_delta")

    @property
    def base_timestamps(self) -> Int64s:
        return self._column("base_timestamp")

    @property
    def max_timestamps(self) -> Int64s:
        return self._column("max_timestamp")

    @property
    def record_counts(self) -> Int64s:
        return self._column("record_count")

    @property
    def is_control(self) -> Bools:
        return self._has(CONTROL_FLAG)

    @property
    def is_compressed(self) -> Bools:
        return self._has(CODEC_MASK)

    @property
    def is_log_append_time(self) -> Bools:
        return self._has(LOG_APPEND_TIME_FLAG)

    def _has(self, flags: int) -> Bools:
        return (self._column("attributes") & flags).astype(np.bool_)

    def _column(self, name: str) -> Int64s:
        return np.asarray(self._rows[name], np.int64)

    def check_crcs(self, batches: Buffer) -> None:
        """CorruptRecords if a checksum does not fit."""
        crcs = self._rows["crc"].tolist()
        with memoryview(batches) as view:
            for crc, position, size in zip(crcs, self.positions.tolist(), self.sizes.tolist(), strict=True):
                if crc32c(view[position + ATTRIBUTES_POSITION : position + size]) != crc:
                    offset = parse_header(view, position).base_offset
                    raise CorruptRecords(f"the batch at offset {offset} does not match its checksum")


def batch_headers(batches: Buffer) -> BatchHeaders:
    """Parse the headers of whole batches; CorruptRecords if one is not of version 2, or the last one is not whole."""
    positions = array("q")
    position, end = 0, len(batches)
    length_at = _LENGTH.unpack_from
    while end - position >= HEADER_BYTES and batches[position + MAGIC_POSITION] == MAGIC:
        length = length_at(batches, position + _LENGTH_POSITION)[0]
        if length < MIN_BATCH_LENGTH:
            break
        positions.append(position)
        position += length + LOG_OVERHEAD_BYTES
    if position != end:
        # Something is wrong, which this says.
        for _ in iterate_headers(batches, positions[-1] if positions and position > end else position):
            pass
    found = np.array(positions, np.int64)
    if not positions:
        return BatchHeaders(np.empty(0, _FORM), found)
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(batches, np.uint8), HEADER_BYTES)
    return BatchHeaders(windows[found].view(_FORM)[:, 0], found)
