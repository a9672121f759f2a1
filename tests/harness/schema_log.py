"""Reads what is in the topic of a registry, and who wrote it."""

from harness.schema_history import LogEntry
from ottla.client import Client, IsolationLevel
from ottla.client.records import decode_batches
from ottla.protocol.record_batch import iterate_headers


async def read_log(client: Client, topic: str) -> list[LogEntry]:
    """Every committed record."""
    found: list[LogEntry] = []
    offset = 0
    while True:
        fetched = await client.fetch_batches(topic, 0, offset, isolation=IsolationLevel.READ_COMMITTED)
        headers = [header for _, header in iterate_headers(fetched.batches)]
        if not headers:
            return found
        writers = {number: header for header in headers for number in range(header.base_offset, header.next_offset)}
        for batch in decode_batches(topic, 0, fetched.batches, from_offset=offset, aborted=fetched.aborted):
            for record in batch:
                writer = writers[record.offset]
                assert record.key is not None
                found.append(
                    LogEntry(record.offset, writer.producer_id, writer.producer_epoch, record.key, record.value)
                )
        offset = headers[-1].next_offset
