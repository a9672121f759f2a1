"""Records into a batch: encoded as they come, so that the batch's size is known at any time.

The header is written last, and may be written again with another producer epoch and sequence: the payload, compressed
once, stays.
"""

from ottla.protocol.compression import Codec, compress
from ottla.protocol.primitives import write_varint
from ottla.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    encode_batch,
)
from ottla.protocol.records import Headers

# Most lengths and deltas are small: looked up, not computed.
_SMALL = tuple(write_varint(number) for number in range(2048))
_NULL = write_varint(-1)

# What a record takes beside its key, value and headers: length, attributes, deltas, counts, each at its longest.
RECORD_OVERHEAD_BYTES = 32


class BatchWriter:
    """One batch of one partition."""

    __slots__ = ("_base_timestamp", "_codec", "_level", "_max_timestamp", "_parts", "_payload", "count", "size_bytes")

    def __init__(self, codec: Codec = Codec.NONE, level: int | None = None) -> None:
        self.count = 0
        self.size_bytes = HEADER_BYTES
        self._codec = codec
        self._level = level
        self._base_timestamp = 0
        self._max_timestamp = 0
        self._parts: list[bytes] = []
        self._payload: bytes | None = None

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Add a record; its number in the batch."""
        number = self.count
        if number == 0:
            self._base_timestamp = self._max_timestamp = timestamp_ms
        elif timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        timestamp_delta = _varint(timestamp_ms - self._base_timestamp)
        head = b"\0" + timestamp_delta + _varint(number)
        head += _NULL if key is None else _varint(len(key)) + key
        size = len(head) + (1 if value is None else len(value))
        value_length = _NULL if value is None else _varint(len(value))
        if value is not None:
            size += len(value_length)
        tail = encode_headers(headers) if headers else b"\0"
        record = b"".join((_varint(size + len(tail)), head, value_length, value or b"", tail))
        self._parts.append(record)
        self.size_bytes += len(record)
        self.count = number + 1
        return number

    def build(
        self,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        *,
        is_transactional: bool = False,
    ) -> bytearray:
        """The batch; no record can be added afterwards."""
        if self._payload is None:
            self._payload = compress(self._codec, b"".join(self._parts), self._level)
            self._parts = []
        header = BatchHeader(
            0,
            0,
            NO_LEADER_EPOCH,
            MAGIC,
            0,
            self._codec | (TRANSACTIONAL_FLAG if is_transactional else 0),
            self.count - 1,
            self._base_timestamp,
            self._max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            self.count,
        )
        return encode_batch(header, self._payload)


def encode_headers(headers: Headers) -> bytes:
    """The headers of a record with their count."""
    parts = [_varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += (_varint(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (_varint(len(value)), value)
    return b"".join(parts)


def record_size_bound(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """At most this many bytes does a record take before compression."""
    size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, header in headers:
        size += 4 * len(name) + len(header or b"") + 10
    return size


def _varint(number: int) -> bytes:
    return _SMALL[number] if 0 <= number < 2048 else write_varint(number)
