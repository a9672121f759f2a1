"""Reads a topic at the end of a run: everything that is in the log, and what became of it."""

from __future__ import annotations

from ottla.client import Client, ConsumerSettings, IsolationLevel, OffsetReset, OffsetSpec, TopicPartition
from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import BatchHeader, batch_records, iterate_headers
from ottla.testing.history import FinalLog, FinalRecord, RecordState, Value


async def read_log(client: Client, partition: TopicPartition) -> tuple[FinalLog, list[bytes | None]]:
    """A partition from its start to its end, and the keys of those records that readers of committed ones see.

    What became of a transaction is found in its markers, not in what the broker says about aborted ones.
    """
    found: list[tuple[BatchHeader, list[tuple[int, bytes | None, bytes | None]]]] = []
    # By producer: where its transactions end, and how.
    ends: dict[int, list[tuple[int, bool]]] = {}
    offset = 0
    while True:
        fetched = await client.fetch_batches(*partition, offset)
        for position, header in iterate_headers(fetched.batches):
            if header.is_control:
                marker = parse_end_txn_marker(fetched.batches[position : position + header.size_bytes], header)
                if marker is not None:
                    ends.setdefault(header.producer_id, []).append((header.base_offset, marker.is_commit))
            else:
                records = batch_records(fetched.batches, header, position)
                rows = [(header.base_offset + one.offset_delta, one.key, one.value) for one in records]
                found.append((header, rows))
            offset = header.last_offset + 1
        if offset >= fetched.high_watermark:
            break
    final: list[FinalRecord] = []
    keys: list[bytes | None] = []
    for header, rows in found:
        state = _state_of(header, ends.get(header.producer_id, []))
        final += [FinalRecord(at, Value.decode(value), state) for at, _, value in rows]
        if state.is_visible:
            keys += [key for _, key, _ in rows]
    return FinalLog(partition, 0, offset, tuple(final)), keys


def _state_of(header: BatchHeader, ends: list[tuple[int, bool]]) -> RecordState:
    if not header.is_transactional:
        return RecordState.PLAIN
    for at, is_commit in ends:
        if at > header.base_offset:
            return RecordState.COMMITTED if is_commit else RecordState.ABORTED
    return RecordState.OPEN


async def read_table(client: Client, topic: str) -> dict[bytes, int]:
    """The newest committed value of each key of a compacted topic with one partition."""
    settings = ConsumerSettings(isolation=IsolationLevel.READ_COMMITTED, offset_reset=OffsetReset.EARLIEST)
    table: dict[bytes, int] = {}
    partition = TopicPartition(topic, 0)
    async with client.consumer(settings) as consumer:
        consumer.assign([partition])
        end = (await consumer.list_offsets({partition: OffsetSpec.LATEST}))[partition].offset
        await consumer.seek_to({partition: OffsetSpec.EARLIEST})
        while (consumer.position(partition) or 0) < end:
            for record in await consumer.poll(1_000):
                assert record.key is not None
                assert record.value is not None
                table[record.key] = int(record.value)
    return table
