"""The `.snapshot` file: the producers of a log as they were at the offset in its name, in Kafka's format.

Version (2 bytes), CRC-32C of what follows (4), number of entries (4), entries of 46 bytes. It keeps the last batch of
each producer, not all five of the window; the others are looked up in the log when one of them may have come again.
"""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from crc32c import crc32c

from ottla.storage.errors import DamagedFile

VERSION = 1
_PREFIX = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")


class ProducerEntry(NamedTuple):
    """One producer; numbers are -1 where there is nothing to say."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    current_transaction_first_offset: int


def pack_entry(entry: ProducerEntry) -> bytes:
    """The bytes of one producer."""
    return _ENTRY.pack(*entry)


def encode_snapshot(packed_entries: Iterable[bytes]) -> bytes:
    """The bytes of a snapshot file."""
    entries = b"".join(packed_entries)
    body = _COUNT.pack(len(entries) // _ENTRY.size) + entries
    return _PREFIX.pack(VERSION, crc32c(body)) + body


def decode_snapshot(path: Path, data: bytes) -> list[ProducerEntry]:
    """The entries of a snapshot file; DamagedFile if it is not one, or not whole."""
    if len(data) < _PREFIX.size + _COUNT.size:
        raise DamagedFile(path, f"{len(data)} bytes are too few for a producer snapshot")
    version, crc = _PREFIX.unpack_from(data)
    if version != VERSION:
        raise DamagedFile(path, f"producer snapshot version {version} is unknown")
    body = memoryview(data)[_PREFIX.size :]
    if crc32c(body) != crc:
        raise DamagedFile(path, "the checksum of the producer snapshot does not match")
    (count,) = _COUNT.unpack_from(body)
    entries = body[_COUNT.size :]
    if count < 0 or len(entries) != count * _ENTRY.size:
        raise DamagedFile(path, f"{count} entries do not take {len(entries)} bytes")
    return [ProducerEntry._make(fields) for fields in _ENTRY.iter_unpack(entries)]
