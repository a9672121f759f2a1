"""Records as a consumer would return them."""

from ottla.client.records import Record
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.record_batch import BatchHeader, TimestampType, parse_header
from ottla.protocol.records import Headers

NOW_MS = 1_718_000_000_000


def header(**changes: int) -> BatchHeader:
    builder = BatchBuilder()
    builder.append(None, b"", timestamp_ms=NOW_MS)
    return parse_header(builder.build())._replace(**changes)


def record(
    value: bytes | None = b"v",
    key: bytes | None = None,
    headers: Headers = (),
    *,
    topic: str = "orders",
    partition: int = 0,
    offset: int = 7,
    timestamp_ms: int = NOW_MS,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    batch: BatchHeader | None = None,
) -> Record:
    return Record(
        topic, partition, offset, timestamp_ms, timestamp_type, key, value, headers, batch or header(leader_epoch=3)
    )
