"""Control records: what brokers write into a log for each other, between the records of clients.

The key is a version and a type. End-of-transaction markers carry the coordinator's epoch; the metadata quorum's types
carry a message of their own, which this module takes as bytes.
"""

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Buffer
from ottla.protocol.record_batch import NO_LEADER_EPOCH, BatchHeader, batch_records
from ottla.protocol.records import CorruptRecords

_KEY = struct.Struct(">hh")
_KEY_VERSION = 0
_END_TXN_VALUE = struct.Struct(">hi")
_END_TXN_VERSION = 0

# From this level of the feature transaction.version on, each transaction has an epoch of its own, and its markers carry
# the next one (KIP-890).
EPOCH_BUMP_VERSION: Final = 2


class ControlType(IntEnum):
    """What a control record says; its key holds the number."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTxnMarker(NamedTuple):
    """How a transaction ended, and which coordinator said so."""

    is_commit: bool
    coordinator_epoch: int


def control_key(control_type: ControlType) -> bytes:
    """The key of a control record."""
    return _KEY.pack(_KEY_VERSION, control_type)


def parse_control_key(key: bytes | None) -> int:
    """The type in the key of a control record; numbers that we do not know are returned as they are."""
    if key is None or len(key) < _KEY.size:
        raise CorruptRecords("a control record has no type in its key")
    control_type: int = _KEY.unpack_from(key)[1]
    return control_type


def control_batch(
    control_type: ControlType,
    value: bytes,
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """A batch of one control record without a producer, as in the metadata log; `value` is the encoded message."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch, is_control=True)
    builder.append(control_key(control_type), value, timestamp_ms=timestamp_ms)
    return builder.build()


def end_txn_batch(
    *, producer_id: int, producer_epoch: int, is_commit: bool, coordinator_epoch: int, timestamp_ms: int
) -> bytearray:
    """The marker that ends a producer's transaction in one partition."""
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True, is_control=True
    )
    key = control_key(ControlType.COMMIT if is_commit else ControlType.ABORT)
    builder.append(key, _END_TXN_VALUE.pack(_END_TXN_VERSION, coordinator_epoch), timestamp_ms=timestamp_ms)
    return builder.build()


def parse_end_txn_marker(batch: Buffer, header: BatchHeader) -> EndTxnMarker | None:
    """The marker in a control batch, None if it is another kind of control record or compaction took it out."""
    for record in batch_records(batch, header):
        control_type = parse_control_key(record.key)
        if control_type not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        if record.value is None or len(record.value) < _END_TXN_VALUE.size:
            raise CorruptRecords("an end-of-transaction marker has no coordinator epoch")
        return EndTxnMarker(control_type == ControlType.COMMIT, _END_TXN_VALUE.unpack_from(record.value)[1])
    return None
