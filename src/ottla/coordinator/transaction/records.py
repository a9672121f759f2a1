"""The records of `__transaction_state`, between our values and Kafka's bytes.

A key begins with the int16 0, a value with the int16 version of its schema: 1, which is flexible, from
transaction.version 1 on, else 0. A null value forgets the id. In EMPTY there are no partitions, and the list is null.
"""

import struct

from ottla.coordinator.state_machine import UnknownRecord
from ottla.coordinator.transaction.metadata import TransactionMetadata, by_topic
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.codec import MalformedMessage, decode_at, encode
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from ottla.protocol.topic_partition import TopicPartition

_INT16 = struct.Struct(">h")
_KEY_VERSION = 0
_PLAIN_VALUE_VERSION = 0
_FLEXIBLE_VALUE_VERSION = 1


def encode_key(transactional_id: str) -> bytes:
    """The key under which compaction keeps the latest state of an id."""
    return _INT16.pack(_KEY_VERSION) + encode(TransactionLogKey(transactional_id=transactional_id), _KEY_VERSION)


def encode_value(metadata: TransactionMetadata, transaction_version: int) -> bytes:
    """The state of an id, for a cluster whose transaction.version is this."""
    version = _FLEXIBLE_VALUE_VERSION if transaction_version >= 1 else _PLAIN_VALUE_VERSION
    is_empty = metadata.state is TransactionState.EMPTY
    assert not (is_empty and metadata.partitions), f"{metadata.transactional_id} is empty and has partitions"
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        previous_producer_id=metadata.previous_producer_id,
        next_producer_id=metadata.next_producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=None
        if is_empty
        else [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic(metadata.partitions).items()],
        transaction_last_update_timestamp_ms=metadata.last_update_timestamp_ms,
        transaction_start_timestamp_ms=metadata.start_timestamp_ms,
        client_transaction_version=metadata.client_transaction_version,
    )
    return _INT16.pack(version) + encode(value, version)


def decode_key(key: bytes) -> str:
    """The id of a record; UnknownRecord if it is of another kind."""
    version = _version_of(key)
    if version != _KEY_VERSION:
        raise UnknownRecord(f"record of kind {version}")
    message, _ = decode_at(TransactionLogKey, key, _KEY_VERSION, _INT16.size)
    return message.transactional_id


def decode_value(transactional_id: str, value: bytes) -> TransactionMetadata:
    """The state of an id; UnknownRecord or MalformedMessage if it cannot be read."""
    version = _version_of(value)
    if version not in TransactionLogValue.VERSIONS:
        raise UnknownRecord(f"transaction state of version {version}")
    message, _ = decode_at(TransactionLogValue, value, version, _INT16.size)
    try:
        state = TransactionState(message.transaction_status)
    except ValueError:
        raise UnknownRecord(f"transaction state {message.transaction_status}") from None
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
        timeout_ms=message.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(topic.topic, index)
            for topic in message.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        start_timestamp_ms=message.transaction_start_timestamp_ms,
        last_update_timestamp_ms=message.transaction_last_update_timestamp_ms,
        previous_producer_id=message.previous_producer_id,
        next_producer_id=message.next_producer_id,
        client_transaction_version=message.client_transaction_version,
    )


def _version_of(data: bytes) -> int:
    if len(data) < _INT16.size:
        raise MalformedMessage(f"{len(data)} bytes hold no version")
    version: int = _INT16.unpack_from(data)[0]
    return version
