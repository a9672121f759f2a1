"""The records of a batch taken apart into columns, in one pass over its payload.

The consumer makes its record objects from these columns. Nearly all varints take one byte, and those are read in place:
a call for each would cost more than everything else.
"""

from dataclasses import dataclass, field

from ottla.protocol.compression import Buffer
from ottla.protocol.primitives import read_varint, read_varlong
from ottla.protocol.records import CorruptRecords, Headers


@dataclass(slots=True)
class RecordColumns:
    """Columns of equal length; offsets and times are relative to the batch."""

    offset_deltas: list[int] = field(default_factory=list)
    timestamp_deltas: list[int] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)


def split_records(payload: Buffer, record_count: int) -> RecordColumns:
    """The columns of a decompressed payload; CorruptRecords unless it holds exactly `record_count` records."""
    data = bytes(payload)
    columns = RecordColumns()
    try:
        end = _split(data, record_count, columns)
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"record {len(columns.headers)} is malformed: {error}") from error
    if end != len(data):
        raise CorruptRecords(f"{len(data) - end} bytes follow the last of {record_count} records")
    return columns


def _split(data: bytes, record_count: int, columns: RecordColumns) -> int:  # noqa: PLR0912 (varints in place)
    add_offset, add_timestamp = columns.offset_deltas.append, columns.timestamp_deltas.append
    add_key, add_value, add_headers = columns.keys.append, columns.values.append, columns.headers.append
    position, data_end = 0, len(data)
    for _ in range(record_count):
        length, position = read_varint(data, position)
        end = position + length
        if length < 0 or end > data_end:
            raise ValueError(f"it claims {length} bytes, {data_end - position} are left")
        position += 1  # attributes, unused
        number, position = data[position], position + 1
        if number >= 0x80:
            number, position = read_varlong(data, position - 1)
        else:
            number = (number >> 1) ^ -(number & 1)
        add_timestamp(number)
        number, position = data[position], position + 1
        if number >= 0x80:
            number, position = read_varint(data, position - 1)
        else:
            number = (number >> 1) ^ -(number & 1)
        add_offset(number)
        for add in (add_key, add_value):
            size, position = data[position], position + 1
            if size >= 0x80:
                size, position = read_varint(data, position - 1)
            else:
                size = (size >> 1) ^ -(size & 1)
            if size >= 0:
                add(data[position : position + size])
                position += size
            elif size == -1:
                add(None)
            else:
                raise ValueError(f"a field of {size} bytes")
        headers: Headers = ()
        if data[position] == 0:
            position += 1
        else:
            headers, position = _headers(data, position)
        if position != end:
            raise ValueError(f"it claims {length} bytes, and its fields end {end - position} bytes earlier")
        add_headers(headers)
    return position


def _headers(data: bytes, position: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if not 0 < count <= (len(data) - position) // 2:
        raise ValueError(f"{count} headers in {len(data) - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, position = read_varint(data, position)
        if size < 0:
            raise ValueError("a header without a name")
        name = data[position : position + size].decode(errors="replace")
        size, position = read_varint(data, position + size)
        if size < -1:
            raise ValueError(f"a header of {size} bytes")
        headers.append((name, None if size < 0 else data[position : position + size]))
        position += max(size, 0)
    return tuple(headers), position
