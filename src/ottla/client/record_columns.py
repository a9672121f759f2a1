"""The records of a batch taken apart into columns, in one pass over its payload.

What looks at single records stands on this: the consumer makes objects of the columns, `columns.py` makes Arrow arrays.
Varints of one byte, which nearly all are, are read in place: a call for each would cost more than everything else.
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
    position = 0
    try:
        for _ in range(record_count):
            position = _split_record(data, position, columns)
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"record {len(columns.headers)} is malformed: {error}") from error
    if position != len(data):
        raise CorruptRecords(f"{len(data) - position} bytes follow the last of {record_count} records")
    return columns


def _split_record(data: bytes, position: int, columns: RecordColumns) -> int:  # noqa: PLR0912 (varints in place)
    byte = data[position]
    if byte < 0x80:
        length, position = (byte >> 1) ^ -(byte & 1), position + 1
    else:
        length, position = read_varint(data, position)
    end = position + length
    if length < 0 or end > len(data):
        raise ValueError(f"it claims {length} bytes, {len(data) - position} are left")
    position += 1  # attributes, unused
    byte = data[position]
    if byte < 0x80:
        columns.timestamp_deltas.append((byte >> 1) ^ -(byte & 1))
        position += 1
    else:
        number, position = read_varlong(data, position)
        columns.timestamp_deltas.append(number)
    byte = data[position]
    if byte < 0x80:
        columns.offset_deltas.append((byte >> 1) ^ -(byte & 1))
        position += 1
    else:
        number, position = read_varint(data, position)
        columns.offset_deltas.append(number)
    for column in (columns.keys, columns.values):
        byte = data[position]
        if byte < 0x80:
            size, position = (byte >> 1) ^ -(byte & 1), position + 1
        else:
            size, position = read_varint(data, position)
        if size >= 0:
            column.append(data[position : position + size])
            position += size
        elif size == -1:
            column.append(None)
        else:
            raise ValueError(f"a field of {size} bytes")
    headers, position = _headers(data, position)
    if position != end:
        raise ValueError(f"it claims {length} bytes, and its fields end {end - position} bytes earlier")
    columns.headers.append(headers)
    return end


def _headers(data: bytes, position: int) -> tuple[Headers, int]:
    if data[position] == 0:
        return (), position + 1
    count, position = read_varint(data, position)
    if not 0 < count <= (len(data) - position) // 2:
        raise ValueError(f"{count} headers in {len(data) - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, position = read_varint(data, position)
        if size < 0:
            raise ValueError("a header without a name")
        name = data[position : position + size].decode()
        size, position = read_varint(data, position + size)
        if size < -1:
            raise ValueError(f"a header of {size} bytes")
        headers.append((name, None if size < 0 else data[position : position + size]))
        position += max(size, 0)
    return tuple(headers), position
