"""A shard of transactional ids rebuilt from its partition's log."""

import logging
from collections.abc import Iterable

from ottla.broker.coordinators.replay import replay
from ottla.broker.transactions.state_topic import TRANSACTION_TOPIC
from ottla.coordinator.transaction.records import decode_key, decode_value
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.protocol.record_batch import BatchHeader

logger = logging.getLogger(__name__)


def load_shard(partition: int, pieces: Iterable[memoryview]) -> TransactionShard:
    """Replay every record."""
    shard = TransactionShard()

    def take_record(key: bytes, value: bytes | None, _header: BatchHeader) -> None:
        transactional_id = decode_key(key)
        shard.replay(transactional_id, None if value is None else decode_value(transactional_id, value))

    # Nobody writes control batches here that would mean anything.
    record_count = replay(TRANSACTION_TOPIC, partition, pieces, take_record, lambda _batch, _header: None)
    logger.debug("%s-%d: %d transactional ids from %d records", TRANSACTION_TOPIC, partition, len(shard), record_count)
    return shard
