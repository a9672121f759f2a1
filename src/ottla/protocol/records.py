"""The records inside a batch: one at a time, in the uncompressed form that follows the 61-byte header.

Only work that must see single records comes here: exact lookup by time, compaction, the null-key check, the
coordinators' and the metadata log's own records. Produce and fetch never do.

A record is: its length, attributes (unused), timestamp delta, offset delta, key, value, headers; all numbers but the
attributes are zigzag varints, and -1 is the length of a null.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ottla.protocol.compression import Buffer
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.primitives import read_varint, read_varlong, write_varint

_NULL = write_varint(-1)
# Most lengths and deltas are small: looked up, not computed.
_SMALL_COUNT = 2048
_SMALL = tuple(map(write_varint, range(_SMALL_COUNT)))

# What a record takes besides its key, value and headers: length, attributes, deltas, counts, each at its longest.
RECORD_OVERHEAD_BYTES = 32

Headers = Sequence[tuple[str, bytes | None]]


class CorruptRecords(ApiError):
    """The bytes are not the records or the batch that they claim to be."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


class Record(NamedTuple):
    """One record as stored: its time and offset are relative to its batch."""

    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def iterate_records(payload: Buffer, record_count: int) -> Iterator[Record]:
    """The records of a decompressed payload; CorruptRecords unless it holds exactly `record_count` well-formed ones."""
    position = 0
    for number in range(record_count):
        try:
            length, position = read_varint(payload, position)
            end = position + length
            if length < 0 or end > len(payload):
                raise CorruptRecords(f"record {number} claims {length} bytes, {len(payload) - position} are left")
            record, position = _read_record(payload, position)
        except (IndexError, ValueError) as error:
            raise CorruptRecords(f"record {number} is malformed: {error}") from error
        if position != end:
            raise CorruptRecords(
                f"record {number} claims {length} bytes but its fields end {end - position} bytes earlier"
            )
        yield record
    if position != len(payload):
        raise CorruptRecords(f"{len(payload) - position} bytes follow the last of {record_count} records")


def encode_record(record: Record) -> bytes:
    """The record with its length in front."""
    return encode_fields(*record)


def encode_fields(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> bytes:
    """Encode the fields of a record, without making an object of it, with its length in front.

    A producer spends most of its time here: hence one join, and the varints without a function around the table.
    """
    times = _SMALL[timestamp_delta] if 0 <= timestamp_delta < _SMALL_COUNT else write_varint(timestamp_delta)
    number = _SMALL[offset_delta] if 0 <= offset_delta < _SMALL_COUNT else write_varint(offset_delta)
    key_length = value_length = _NULL
    if key is None:
        key = b""
    else:
        key_length = _SMALL[size] if (size := len(key)) < _SMALL_COUNT else write_varint(size)
    if value is None:
        value = b""
    else:
        value_length = _SMALL[size] if (size := len(value)) < _SMALL_COUNT else write_varint(size)
    tail = _encode_headers(headers) if headers else _SMALL[0]
    size = 1 + len(times) + len(number) + len(key_length) + len(key) + len(value_length) + len(value) + len(tail)
    length = _SMALL[size] if size < _SMALL_COUNT else write_varint(size)
    return b"".join((length, b"\0", times, number, key_length, key, value_length, value, tail))


def encode_records(records: Iterable[Record]) -> bytes:
    """The payload of a batch."""
    return b"".join(map(encode_record, records))


def record_size_bound(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """The most bytes that a record can take before compression, wherever it is in its batch."""
    size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, header in headers:
        size += 4 * len(name) + len(header or b"") + 10
    return size


def _read_record(payload: Buffer, position: int) -> tuple[Record, int]:
    timestamp_delta, position = read_varlong(payload, position + 1)
    offset_delta, position = read_varint(payload, position)
    key, position = _read_sized(payload, position)
    value, position = _read_sized(payload, position)
    header_count, position = read_varint(payload, position)
    if header_count == 0:
        return Record(timestamp_delta, offset_delta, key, value, ()), position
    if not 0 < header_count <= (len(payload) - position) // 2:
        raise ValueError(f"{header_count} headers in {len(payload) - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(header_count):
        name, position = _read_sized(payload, position)
        if name is None:
            raise ValueError("a header has no name")
        value_bytes, position = _read_sized(payload, position)
        headers.append((name.decode(errors="replace"), value_bytes))
    return Record(timestamp_delta, offset_delta, key, value, tuple(headers)), position


def _read_sized(payload: Buffer, position: int) -> tuple[bytes | None, int]:
    length, position = read_varint(payload, position)
    if length == -1:
        return None, position
    end = position + length
    if length < 0 or end > len(payload):
        raise ValueError(f"a field of {length} bytes where {len(payload) - position} are left")
    return bytes(payload[position:end]), end


def _encode_headers(headers: Headers) -> bytes:
    parts = [write_varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (write_varint(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (write_varint(len(value)), value)
    return b"".join(parts)
