"""A shard of groups rebuilt from its partition's log."""

import logging
from collections.abc import Iterable

from ottla.broker.coordinators.replay import replay
from ottla.broker.groups.offsets_topic import OFFSETS_TOPIC
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.records import decode_record
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import NO_PRODUCER_ID, BatchHeader

logger = logging.getLogger(__name__)


def load_shard(config: GroupConfig, partition: int, pieces: Iterable[memoryview]) -> GroupShard:
    """Replay every record and marker.

    A transaction whose marker has not come is still pending afterwards: its coordinator will send one.
    """
    shard = GroupShard(config)

    def take_record(key: bytes, value: bytes | None, header: BatchHeader) -> None:
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        shard.replay(decode_record(key, value), producer_id)

    def take_control(batch: memoryview, header: BatchHeader) -> None:
        marker = parse_end_txn_marker(batch, header)
        if marker is not None:
            shard.replay_marker(header.producer_id, is_commit=marker.is_commit)

    record_count = replay(OFFSETS_TOPIC, partition, pieces, take_record, take_control)
    logger.debug("%s-%d: %d groups from %d records", OFFSETS_TOPIC, partition, len(shard), record_count)
    return shard
