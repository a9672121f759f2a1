"""The record batch, format version 2: the unit that clients send, that the log stores and that fetches return.

A batch is a 61-byte header and a payload of records, compressed as a whole. The CRC-32C covers everything from the
attributes to the end. Base offset, length, leader epoch and magic lie before it, so a leader can put a batch in its
place in the log without touching the checksum, and so these four need sanity checks of their own.

Everything here works on the header alone, or on the payload as one piece; `ottla.protocol.records` looks inside.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from crc32c import crc32c

from ottla.protocol.compression import Buffer, Codec, CompressionError, OutputTooLarge, decompress
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.records import CorruptRecords, Record, iterate_records

MAGIC = 2
HEADER_BYTES = 61
# Base offset and length, which the length itself does not count.
LOG_OVERHEAD_BYTES = 12
MIN_BATCH_LENGTH = HEADER_BYTES - LOG_OVERHEAD_BYTES
# What a leader overwrites when it gives a batch its place: base offset, length (unchanged), leader epoch.
PLACEMENT_BYTES = 16

MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21

HEADER = struct.Struct(">qiibIhiqqqhii")
PLACEMENT = struct.Struct(">qii")
_BASE_OFFSET = struct.Struct(">q")
# The header in two halves: what the checksum does not cover, and what it does.
_UNCOVERED, _COVERED = struct.Struct(">qiibI"), struct.Struct(">hiqqqhii")
_COVERED_FROM = 5

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1
MAX_SEQUENCE = 2**31 - 1

# A batch that the broker opens itself may grow to this size; clients' own limits are far below it.
MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024


class TimestampType(IntEnum):
    """Who set a batch's timestamps."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The header, in the order of its bytes."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; sequences continue at 0 after 2^31-1."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE

    def continues(self, before: "BatchHeader") -> bool:
        """Whether an idempotent producer sent this batch right after another one."""
        return (
            self.producer_id == before.producer_id
            and self.producer_epoch == before.producer_epoch
            and self.base_sequence == (before.last_sequence + 1) & MAX_SEQUENCE
        )

    @property
    def codec(self) -> Codec:
        try:
            return Codec(self.attributes & CODEC_MASK)
        except ValueError:
            raise CorruptRecords(f"unknown compression {self.attributes & CODEC_MASK}") from None

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """From when on the batch's tombstones may be dropped; compaction stores it in place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0


# As BatchHeader._make, which is Python code and counts the fields once more. Whoever needs many fields of a header
# unpacks it: the interpreter looks a field of a named tuple up anew each time.
make_header = partial(tuple.__new__, BatchHeader)


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at a position; CorruptRecords if there is not room for one, or it is none of version 2."""
    try:
        header = make_header(HEADER.unpack_from(buffer, position))
    except struct.error:
        raise CorruptRecords(f"a batch header takes {HEADER_BYTES} bytes, {len(buffer) - position} are left") from None
    if header.magic != MAGIC:
        raise CorruptRecords(f"message format version {header.magic} is not supported, only version {MAGIC} is")
    if header.batch_length < MIN_BATCH_LENGTH:
        raise CorruptRecords(f"batch length {header.batch_length} is below the smallest possible, {MIN_BATCH_LENGTH}")
    return header


def iterate_headers(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Each batch's position and header up to the end of the buffer; CorruptRecords if the last batch is not whole."""
    end = len(buffer)
    while position < end:
        header = parse_header(buffer, position)
        if position + header.size_bytes > end:
            raise CorruptRecords(
                f"the batch at offset {header.base_offset} takes {header.size_bytes} bytes, {end - position} are left"
            )
        yield position, header
        position += header.size_bytes


def crc_is_valid(batch: Buffer, header: BatchHeader, position: int = 0) -> bool:
    """Whether the checksum fits the bytes; nothing is copied."""
    with memoryview(batch) as view:
        return crc32c(view[position + ATTRIBUTES_POSITION : position + header.size_bytes]) == header.crc


def set_base_offset(buffer: bytearray | memoryview, base_offset: int, position: int = 0) -> None:
    """Give a batch its place in place; the checksum does not cover it."""
    _BASE_OFFSET.pack_into(buffer, position, base_offset)


def encode_header(header: BatchHeader, payload: Buffer) -> bytes:
    """The header of a batch with this payload; length and checksum are computed, whatever the header says."""
    covered = _COVERED.pack(*header[_COVERED_FROM:])
    checksum = crc32c(payload, crc32c(covered))
    length = MIN_BATCH_LENGTH + len(payload)
    return _UNCOVERED.pack(header.base_offset, length, header.leader_epoch, MAGIC, checksum) + covered


def encode_batch(header: BatchHeader, payload: Buffer) -> bytearray:
    """A batch from its parts, in one piece."""
    batch = bytearray(encode_header(header, payload))
    batch += payload
    return batch


def decompressed_payload(
    batch: Buffer, header: BatchHeader, position: int = 0, max_output_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Buffer:
    """The records section of a batch as encoded before compression."""
    payload = memoryview(batch)[position + HEADER_BYTES : position + header.size_bytes]
    if header.codec is Codec.NONE:
        return payload
    try:
        return decompress(header.codec, payload, max_output_bytes)
    except OutputTooLarge as error:
        # Not damage: the producer must not try the same again.
        raise ApiError(ErrorCode.MESSAGE_TOO_LARGE, f"A record batch cannot be opened: {error}.") from error
    except CompressionError as error:
        raise CorruptRecords(f"the batch at offset {header.base_offset} cannot be opened: {error}") from error


def batch_records(batch: Buffer, header: BatchHeader, position: int = 0) -> Iterator[Record]:
    """The records of one batch."""
    return iterate_records(decompressed_payload(batch, header, position), header.record_count)
