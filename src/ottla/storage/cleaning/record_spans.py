"""Where the records of a batch lie, and what decides whether they stay: key, offset, time, and if there is a value.

This is the inner loop of compaction: values and headers are not looked at, and records that stay are copied as bytes.
"""

from typing import NamedTuple

from ottla.protocol.primitives import read_varint, read_varlong
from ottla.protocol.records import CorruptRecords

_NULL_BYTE = 1
_MORE = 0x80


class RecordSpan(NamedTuple):
    """One record: its bytes are those from `start` to `end`, with the length in front."""

    start: int
    end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    has_value: bool


def record_spans(payload: bytes, record_count: int) -> list[RecordSpan]:
    """The records of a decompressed payload; CorruptRecords unless there are exactly `record_count`."""
    spans: list[RecordSpan] = []
    position = 0
    size = len(payload)
    number = 0
    try:
        for number in range(record_count):  # noqa: B007 - named in the error
            start = position
            length, position = read_varint(payload, position)
            end = position + length
            if length < 0 or end > size:
                raise ValueError(f"{length} bytes are claimed, {size - position} are left")
            # Single bytes, which most of these numbers are, are read here: a call costs more than all the rest.
            position += 1
            byte = payload[position]
            if byte < _MORE:
                timestamp_delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                timestamp_delta, position = read_varlong(payload, position)
            byte = payload[position]
            if byte < _MORE:
                offset_delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                offset_delta, position = read_varint(payload, position)
            byte = payload[position]
            key: bytes | None = None
            if byte == _NULL_BYTE:
                position += 1
            else:
                key_size, position = read_varint(payload, position)
                if key_size < 0:
                    raise ValueError(f"a key of {key_size} bytes")
                key = payload[position : position + key_size]
                position += key_size
            if position >= end:
                raise ValueError("its fields do not end where it does")
            byte = payload[position]
            has_value = byte != _NULL_BYTE and (byte < _MORE or read_varint(payload, position)[0] != -1)
            spans.append(RecordSpan(start, end, timestamp_delta, offset_delta, key, has_value))
            position = end
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"record {number} is malformed: {error}") from error
    if position != size:
        raise CorruptRecords(f"{size - position} bytes follow the last of {record_count} records")
    return spans
