"""A shard rebuilt from its partition's log. Runs in a thread: a log may be large."""

import logging
from collections import Counter
from collections.abc import Iterable

from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.records import UnknownRecord, decode_record
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import NO_PRODUCER_ID, BatchHeader, batch_records, iterate_headers
from ottla.protocol.records import CorruptRecords, Record

logger = logging.getLogger(__name__)


def load_shard(config: GroupConfig, partition: int, pieces: Iterable[memoryview]) -> GroupShard:
    """Replay every record and marker; what cannot be read is skipped, and reported once with its count.

    A transaction whose marker has not come is still pending afterwards: its coordinator will send one.
    """
    shard = GroupShard(config)
    skipped: Counter[str] = Counter()
    record_count = 0
    for piece in pieces:
        for position, header in iterate_headers(piece):
            if header.is_control:
                _replay_marker(shard, piece[position : position + header.size_bytes], header, skipped)
                continue
            producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
            for record in batch_records(piece, header, position):
                record_count += 1
                _replay(shard, record, producer_id, skipped)
    for reason, count in skipped.items():
        logger.warning("__consumer_offsets-%d: skipped %d of %s", partition, count, reason)
    logger.debug("__consumer_offsets-%d: %d groups from %d records", partition, len(shard), record_count)
    return shard


def _replay(shard: GroupShard, record: Record, producer_id: int, skipped: Counter[str]) -> None:
    if record.key is None:
        skipped["record without a key"] += 1
        return
    try:
        shard.replay(decode_record(record.key, record.value), producer_id)
    except (UnknownRecord, MalformedMessage) as error:
        skipped[str(error)] += 1


def _replay_marker(shard: GroupShard, batch: memoryview, header: BatchHeader, skipped: Counter[str]) -> None:
    try:
        marker = parse_end_txn_marker(batch, header)
    except CorruptRecords as error:
        skipped[str(error)] += 1
        return
    if marker is not None:
        shard.replay_marker(header.producer_id, is_commit=marker.is_commit)
