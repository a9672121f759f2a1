"""The records of a batch as columns of what decides whether they stay: key, offset, and whether there is a value.

This is the inner loop of compaction. Numbers of one and two bytes, which nearly all are, are read in place, since a
call costs more than all the rest of a record; values and headers are not looked at, and records that stay are copied as
bytes.
"""

from itertools import compress

from ottla.protocol.primitives import read_varint, read_varlong
from ottla.protocol.records import CorruptRecords

_NULL = 1
_MORE = 0x80
_LOW = 0x7F


class RecordColumns:
    """The records of one decompressed payload; CorruptRecords unless it holds exactly `record_count`."""

    __slots__ = ("keys", "offset_deltas", "payload", "starts", "tombstones")

    def __init__(self, payload: bytes, record_count: int) -> None:
        self.payload = payload
        # Where each record begins, with its length in front; it ends where the next begins.
        self.starts: list[int] = []
        self.offset_deltas: list[int] = []
        self.keys: list[bytes | None] = []
        # The numbers of the records without a value.
        self.tombstones: set[int] = set()
        try:
            end = self._parse(record_count)
        except (IndexError, ValueError) as error:
            raise CorruptRecords(f"record {len(self.starts) - 1} is malformed: {error}") from error
        if end != len(payload):
            raise CorruptRecords(f"{len(payload) - end} bytes follow the last of {record_count} records")

    def __len__(self) -> int:
        return len(self.starts)

    def _parse(self, record_count: int) -> int:  # noqa: PLR0912 - a call for each number would double the time
        payload, size = self.payload, len(self.payload)
        add_start, add_delta, add_key = self.starts.append, self.offset_deltas.append, self.keys.append
        position = 0
        for number in range(record_count):
            add_start(position)
            byte = payload[position]
            if byte < _MORE:
                length, position = byte, position + 1
            elif payload[position + 1] < _MORE:
                length, position = byte & _LOW | payload[position + 1] << 7, position + 2
            else:
                length, position = _unsigned(payload, position)
            end = position + (length >> 1)
            if length & 1 or end > size:
                raise ValueError(f"it claims {length >> 1} bytes, {size - position} are left")
            # Behind the attributes comes the time, which is of no interest yet.
            position += 1
            while payload[position] >= _MORE:
                position += 1
            byte = payload[position + 1]
            if byte < _MORE:
                position += 2
            elif payload[position + 2] < _MORE:
                byte, position = byte & _LOW | payload[position + 2] << 7, position + 3
            else:
                byte, position = _unsigned(payload, position + 1)
            if byte & 1:
                raise ValueError("its offset is before that of its batch")
            add_delta(byte >> 1)
            byte = payload[position]
            if byte == _NULL:
                add_key(None)
                position += 1
            else:
                if byte < _MORE:
                    position += 1
                else:
                    byte, position = _unsigned(payload, position)
                if byte & 1:
                    raise ValueError("its key has a negative length")
                begin, position = position, position + (byte >> 1)
                add_key(payload[begin:position])
            if position >= end:
                raise ValueError("its key ends behind it")
            byte = payload[position]
            if byte == _NULL or (byte >= _MORE and _unsigned(payload, position)[0] == _NULL):
                self.tombstones.add(number)
            position = end
        return position

    def only(self, is_kept: list[bool]) -> bytes:
        """The bytes of some of the records, one behind the other."""
        payload = self.payload
        ends = [*self.starts[1:], len(payload)]
        return b"".join([payload[begin:end] for begin, end in compress(zip(self.starts, ends, strict=True), is_kept)])

    def latest_timestamp_delta(self, is_kept: list[bool]) -> int:
        """The largest of the times of some of the records, at least one."""
        return max(_timestamp_delta(self.payload, start) for start in compress(self.starts, is_kept))


def _unsigned(payload: bytes, position: int) -> tuple[int, int]:
    """A number as it is encoded, with its sign in the lowest bit."""
    value, position = read_varint(payload, position)
    return (value << 1 if value >= 0 else (-value << 1) - 1), position


def _timestamp_delta(payload: bytes, start: int) -> int:
    while payload[start] >= _MORE:
        start += 1
    return read_varlong(payload, start + 2)[0]
