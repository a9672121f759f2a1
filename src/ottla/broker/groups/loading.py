"""A shard rebuilt from its partition's log. Runs in a thread: a log may be large."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator

from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.records import UnknownRecord, decode_record
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.record_batch import batch_records, iterate_headers
from ottla.protocol.records import Record

logger = logging.getLogger(__name__)


def load_shard(config: GroupConfig, partition: int, pieces: Iterable[memoryview]) -> GroupShard:
    """Replay every record; what cannot be read is skipped, and reported once with its count."""
    shard = GroupShard(config)
    skipped: Counter[str] = Counter()
    record_count = 0
    for record in _data_records(pieces, skipped):
        record_count += 1
        if record.key is None:
            skipped["record without a key"] += 1
            continue
        try:
            shard.replay(decode_record(record.key, record.value))
        except (UnknownRecord, MalformedMessage) as error:
            skipped[str(error)] += 1
    for reason, count in skipped.items():
        logger.warning("__consumer_offsets-%d: skipped %d of %s", partition, count, reason)
    # Most of fifty partitions are empty on most nodes; they are not worth a line each.
    level = logging.INFO if record_count else logging.DEBUG
    logger.log(level, "__consumer_offsets-%d: %d groups from %d records", partition, len(shard.groups), record_count)
    return shard


def _data_records(pieces: Iterable[memoryview], skipped: Counter[str]) -> Iterator[Record]:
    for piece in pieces:
        for position, header in iterate_headers(piece):
            if header.is_control or header.is_transactional:
                # Nobody can commit offsets in a transaction yet, so these are from another broker's history.
                skipped["transactional batch"] += 1
                continue
            yield from batch_records(piece, header, position)
