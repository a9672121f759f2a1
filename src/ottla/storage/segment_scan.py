"""Walking through the batches of a segment file, in bounded pieces."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import HEADER_BYTES, BatchHeader, parse_header
from ottla.protocol.records import CorruptRecords
from ottla.storage.errors import DamagedBatch
from ottla.storage.file_system import File

_CHUNK_BYTES = 256 * 1024
# Index entries are index.interval.bytes apart, so that one read of this size nearly always reaches the batch.
LOOKUP_CHUNK_BYTES = 8 * 1024


class ColdPages(Exception):
    """The bytes wanted are not in memory, and the caller must not wait for the disk."""


def scan_headers(
    file: File, start: int, end: int, *, chunk_bytes: int = _CHUNK_BYTES, allow_blocking: bool = True
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield the position and header of each batch between two positions.

    DamagedBatch at the first that is not whole or whose offsets do not follow those before it.
    """
    chunk: Buffer = b""
    chunk_start = start
    position = start
    least_offset = 0
    while position < end:
        if position + HEADER_BYTES > chunk_start + len(chunk):
            chunk = read_bytes(file, position, min(chunk_bytes, end - position), allow_blocking=allow_blocking)
            chunk_start = position
        header = _header_at(file, chunk, chunk_start, position, end, least_offset)
        yield position, header
        least_offset = header.next_offset
        position += header.size_bytes


class ReadableFile(Protocol):
    """What a scan needs of a file."""

    @property
    def path(self) -> Path:
        """Where it is, for reports of damage."""

    def read(self, position: int, size: int) -> Buffer:
        """Up to `size` bytes, fewer only at the end of the file; may wait for the disk."""


def scan_batches(
    file: ReadableFile, start: int, end: int, *, chunk_bytes: int = _CHUNK_BYTES
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Scan as `scan_headers` does, and yield the bytes of each batch too."""
    chunk = memoryview(b"")
    chunk_start = start
    position = start
    least_offset = 0
    while position < end:
        if position + HEADER_BYTES > chunk_start + len(chunk):
            chunk = memoryview(file.read(position, min(chunk_bytes, end - position)))
            chunk_start = position
        header = _header_at(file, chunk, chunk_start, position, end, least_offset)
        size = header.size_bytes
        if position + size > chunk_start + len(chunk):
            chunk = memoryview(file.read(position, min(max(chunk_bytes, size), end - position)))
            chunk_start = position
        begin = position - chunk_start
        yield position, header, chunk[begin : begin + size]
        least_offset = header.next_offset
        position += size


def read_bytes(file: File, position: int, size: int, *, allow_blocking: bool) -> Buffer:
    """Read bytes of a file; ColdPages if they are not in memory and waiting is not allowed."""
    if allow_blocking:
        return file.read(position, size)
    data = file.read_warm(position, size)
    if data is None:
        raise ColdPages
    return data


def _header_at(
    file: ReadableFile, chunk: Buffer, chunk_start: int, position: int, end: int, least_offset: int
) -> BatchHeader:
    try:
        header = parse_header(chunk, position - chunk_start)
    except CorruptRecords as error:
        raise DamagedBatch(file.path, position, error.message) from None
    if header.base_offset < least_offset or header.last_offset_delta < 0:
        message = f"a batch of offsets {header.base_offset} to {header.last_offset} where {least_offset} is next"
        raise DamagedBatch(file.path, position, message)
    if position + header.size_bytes > end:
        message = f"the batch at position {position} takes {header.size_bytes} bytes, {end - position} are left"
        raise DamagedBatch(file.path, position, message)
    return header
