"""A group operation's records as one batch of the offsets topic."""

from collections.abc import Sequence

from ottla.coordinator.group.records import GroupCoordinatorRecord, encode_record
from ottla.protocol.batch_builder import BatchBuilder


def encode_batch(records: Sequence[GroupCoordinatorRecord], timestamp_ms: int) -> bytearray:
    """The records as one batch."""
    builder = BatchBuilder()
    for record in records:
        key, value = encode_record(record)
        builder.append(key, value, timestamp_ms=timestamp_ms)
    return builder.build()
