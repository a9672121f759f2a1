"""Reads a coordinator's partition from the start of its log. Records that cannot be read are skipped, and counted in
the node's log.

It runs in a thread, since a log may be large.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable

from ottla.coordinator.state_machine import UnknownRecord
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.record_batch import BatchHeader, batch_records, iterate_headers
from ottla.protocol.records import CorruptRecords

logger = logging.getLogger(__name__)

_KEPT = "Nothing is lost: they stay in the log, for a node that serves them; all other records are read"


def replay(
    topic: str,
    partition: int,
    pieces: Iterable[memoryview],
    take_record: Callable[[bytes, bytes | None, BatchHeader], None],
    take_control: Callable[[memoryview, BatchHeader], None],
) -> int:
    """Pass every record, by key and value, and every control batch to its callback, in order; returns the number of
    records.

    A callback raises UnknownRecord, MalformedMessage or CorruptRecords for what it cannot read.
    """
    unknown: Counter[str] = Counter()
    damaged: Counter[str] = Counter()
    record_count = 0
    for piece in pieces:
        for position, header in iterate_headers(piece):
            if header.is_control:
                try:
                    take_control(piece[position : position + header.size_bytes], header)
                except CorruptRecords as error:
                    damaged[str(error)] += 1
                continue
            for record in batch_records(piece, header, position):
                record_count += 1
                try:
                    if record.key is None:
                        raise UnknownRecord("record without a key")
                    take_record(record.key, record.value, header)
                except UnknownRecord as error:
                    unknown[str(error)] += 1
                except MalformedMessage as error:
                    damaged[str(error)] += 1
    for reason, count in unknown.items():
        logger.warning("%s-%d: skipped %d of %s. %s", topic, partition, count, reason, _KEPT)
    for reason, count in damaged.items():
        logger.warning("%s-%d: skipped %d that cannot be read: %s", topic, partition, count, reason)
    return record_count
