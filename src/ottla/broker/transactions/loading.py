"""A shard rebuilt from its partition's log. Runs in a thread: a log may be large."""

import logging
from collections import Counter
from collections.abc import Iterable

from ottla.broker.transactions.state_topic import TRANSACTION_TOPIC
from ottla.coordinator.transaction.records import UnknownRecord, decode_key, decode_value
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.record_batch import batch_records, iterate_headers
from ottla.protocol.records import Record

logger = logging.getLogger(__name__)


def load_shard(partition: int, pieces: Iterable[memoryview]) -> TransactionShard:
    """Replay every record; what cannot be read is skipped, and reported once with its count."""
    shard = TransactionShard()
    skipped: Counter[str] = Counter()
    record_count = 0
    for piece in pieces:
        for position, header in iterate_headers(piece):
            if header.is_control:
                continue
            for record in batch_records(piece, header, position):
                record_count += 1
                try:
                    _replay(shard, record)
                except (UnknownRecord, MalformedMessage) as error:
                    skipped[str(error)] += 1
    for reason, count in skipped.items():
        logger.warning("%s-%d: skipped %d of %s", TRANSACTION_TOPIC, partition, count, reason)
    logger.debug("%s-%d: %d transactional ids from %d records", TRANSACTION_TOPIC, partition, len(shard), record_count)
    return shard


def _replay(shard: TransactionShard, record: Record) -> None:
    if record.key is None:
        raise UnknownRecord("record without a key")
    transactional_id = decode_key(record.key)
    shard.replay(transactional_id, None if record.value is None else decode_value(transactional_id, record.value))
