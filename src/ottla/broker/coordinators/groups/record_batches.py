"""Encodes the records of a group operation as one batch of the offsets topic."""

from collections.abc import Sequence

from ottla.coordinator.group.records import GroupCoordinatorRecord, encode_record
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.messages.offset_commit_request import OffsetCommitRequest
from ottla.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest

# The smallest size of a record in the offsets topic, without the names of group and topic.
_RECORD_BYTES_MIN = 50
# The log does not check the sequences of a coordinator's batches. Kafka writes this one into all of them.
_TRANSACTIONAL_BASE_SEQUENCE = 0


def encode_batch(records: Sequence[GroupCoordinatorRecord], timestamp_ms: int, codec: Codec = Codec.NONE) -> bytearray:
    """The records as one batch."""
    return _build(BatchBuilder(codec=codec), records, timestamp_ms)


def encode_transactional_batch(
    records: Sequence[GroupCoordinatorRecord],
    timestamp_ms: int,
    producer_id: int,
    producer_epoch: int,
    codec: Codec = Codec.NONE,
) -> bytearray:
    """The records as one batch of a producer's transaction."""
    builder = BatchBuilder(
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=_TRANSACTIONAL_BASE_SEQUENCE,
        is_transactional=True,
    )
    return _build(builder, records, timestamp_ms)


def offsets_bytes_min(request: OffsetCommitRequest | TxnOffsetCommitRequest) -> int:
    """The smallest size of a commit's batch, known before anything is encoded."""
    per_record = _RECORD_BYTES_MIN + len(request.group_id)
    return sum(len(topic.partitions) * (per_record + len(topic.name)) for topic in request.topics)


def _build(builder: BatchBuilder, records: Sequence[GroupCoordinatorRecord], timestamp_ms: int) -> bytearray:
    for record in records:
        key, value = encode_record(record)
        builder.append(key, value, timestamp_ms=timestamp_ms)
    return builder.build()
