"""The batches of a segment file, whole ones whatever their checksum says, and where a file stops making sense."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ottla.protocol.compression import Codec
from ottla.protocol.control_records import ControlType
from ottla.protocol.errors import ApiError
from ottla.protocol.record_batch import (
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    TimestampType,
    batch_records,
    crc_is_valid,
)
from ottla.protocol.records import Record
from ottla.storage.segment_files import offset_of

BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"
# Base offset, length, leader epoch, magic: with less than this no batch begins.
_START_BYTES = 17
_SMALLEST_LENGTH = 14
_CODECS = frozenset(Codec)
_SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class UnreadableLog(Exception):
    """The file cannot be read any further; the message says why."""


class StoredBatch(NamedTuple):
    """A batch where it is in its file."""

    position: int
    header: BatchHeader
    data: bytes

    @property
    def is_valid(self) -> bool:
        return crc_is_valid(self.data, self.header)

    @property
    def codec_name(self) -> str:
        number = self.header.attributes & CODEC_MASK
        return Codec(number).name.lower() if number in _CODECS else f"unknown({number})"

    def records(self) -> Iterator[Record]:
        """UnreadableLog where the batch cannot be opened."""
        try:
            yield from batch_records(self.data, self.header)
        except ApiError as error:
            raise UnreadableLog(f"the batch at offset {self.header.base_offset}: {error.message}") from error

    def timestamp_ms(self, record: Record) -> int:
        header = self.header
        if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return header.max_timestamp
        return header.base_timestamp + record.timestamp_delta


def read_batches(path: Path, *, start: int = 0, max_bytes: int | None = None) -> Iterator[StoredBatch]:
    """The batches of a file from a position on, as far as they are whole; UnreadableLog where there is no batch."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, io.SEEK_END)
            if max_bytes is not None:
                end = min(end, start + max_bytes)
            yield from _batches(file, path, start, end)
    except OSError as error:
        raise UnreadableLog(f"{path} cannot be read: {error.strerror}") from error


def _batches(file: io.BufferedReader, path: Path, start: int, end: int) -> Iterator[StoredBatch]:
    position = start
    while position + _START_BYTES <= end:
        file.seek(position)
        head = file.read(HEADER_BYTES)
        length = int.from_bytes(head[8:12], "big", signed=True)
        if length < _SMALLEST_LENGTH:
            raise UnreadableLog(
                f"Found record size {length} smaller than minimum record overhead ({_SMALLEST_LENGTH}) in file {path}, "
                f"position {position}"
            )
        size = length + LOG_OVERHEAD_BYTES
        if position + size > end:
            return
        if head[16] != MAGIC or size < HEADER_BYTES:
            raise UnreadableLog(f"{path} has no batch of format version {MAGIC} at position {position}")
        header = BatchHeader._make(HEADER.unpack_from(head))
        yield StoredBatch(position, header, head + file.read(size - HEADER_BYTES))
        position += size


def base_offset(path: Path) -> int:
    """The offset in the name of a segment's file; UnreadableLog if there is none."""
    offset = offset_of(path.name)
    if offset is None:
        raise UnreadableLog(f"{path.name}: the files of a segment are named after its first offset")
    return offset


def file_title(path: Path) -> str:
    """What the name of a segment or of a metadata snapshot says about it."""
    if path.name == BOOTSTRAP_SNAPSHOT:
        return "KRaft bootstrap snapshot"
    if match := _SNAPSHOT_NAME.fullmatch(path.name):
        return f"Snapshot end offset: {int(match[1])}, epoch: {int(match[2])}"
    return f"Log starting offset: {base_offset(path)}"


def control_type(record: Record) -> ControlType | None:
    """What a control record is; None if this release does not know."""
    if record.key is None or len(record.key) < 4:
        return None
    try:
        return ControlType(int.from_bytes(record.key[2:4], "big", signed=True))
    except ValueError:
        return None
