"""The records of several batches, as columns of the fields that decide whether they stay.

This is the inner loop of compaction. Values and headers are not looked at, and records that stay are copied as bytes.
Many small batches are put together, because each step on a column costs the same for ten records as for a thousand.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ottla.protocol.columnar.record_fields import read_fields, refuse
from ottla.protocol.columnar.record_starts import record_starts
from ottla.protocol.columnar.varints import Bools, Int64s
from ottla.protocol.compression import Buffer
from ottla.storage.cleaning.key_hashes import READ_AHEAD_BYTES, KeyHashes, hash_keys

# Keys are hashed a little past the last record.
_PADDING = bytes(READ_AHEAD_BYTES)


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
        counts = np.array([payload.record_count for payload in payloads], np.int64)
        # The rows of batch i are those from bounds[i] to bounds[i + 1].
        self.bounds: list[int] = [0, *np.cumsum(counts).tolist()]
        payload_ends = np.cumsum([len(payload.records) for payload in payloads], dtype=np.int64)
        # Where each record is in the data, its length in front.
        self.starts: Int64s = record_starts(self.data, np.append(0, payload_ends[:-1]), payload_ends, counts)
        self.ends: Int64s = np.append(self.starts[1:], len(self.data) - len(_PADDING))
        fields = read_fields(np.frombuffer(self.data, np.uint8), self.starts, self.ends)
        refuse(fields.offset_deltas < 0, "its offset is before that of its batch")
        self.timestamp_deltas: Int64s = fields.timestamp_deltas
        self.offsets: Int64s = fields.offset_deltas + np.repeat([payload.base_offset for payload in payloads], counts)
        self.has_key: Bools = fields.key_lengths >= 0
        self.is_tombstone: Bools = fields.value_lengths == -1
        self.hashes: KeyHashes = hash_keys(self.data, fields.key_starts, np.maximum(fields.key_lengths, 0))

    def __len__(self) -> int:
        return len(self.starts)

    def only(self, rows: Int64s) -> bytes:
        """The bytes of some of the records, joined."""
        data = self.data
        parts = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return b"".join([data[begin:end] for begin, end in parts])
