"""Writes to `_schemas` as the one instance that leads.

Changes are transactions under the registry's own transactional id; those that wait together make one. A new leader
takes that id before it decides anything, which fences the one before: whatever that one still sends is refused, and
never shows. Then it reads all that was committed, so that it decides with everything. From then on nobody else writes,
and its own state is the newest as soon as it has read its own records.

When the outcome of a transaction is not known, it stops leading: the next leader reads what came of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from ottla.client import Client, ClientError, ProducerSettings
from ottla.registry.errors import schema_too_large, store_failed, timed_out
from ottla.registry.records import Record, encode_key, encode_value
from ottla.registry.schemas_topic import SchemasTopic

# Key and value.
EncodedRecord = tuple[bytes, bytes | None]

_TRANSACTION_TIMEOUT_MS: Final = 30_000


class LostLeadership(Exception):
    """Another instance leads now, or nobody knows what came of a change. This one must not write any more."""


class Leading:
    def __init__(self, client: Client, topic: SchemasTopic, group_id: str, *, timeout_ms: float) -> None:
        """`timeout_ms` is kafkastore.timeout.ms."""
        self._topic = topic
        self._timeout_s = timeout_ms / 1000
        self._producer = client.producer(
            ProducerSettings(
                transactional_id=f"{group_id}-{topic.partition.topic}",
                transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
                linger_ms=0,
                auto_create_topics=False,
                delivery_timeout_ms=timeout_ms,
            )
        )

    async def begin(self) -> None:
        """Fences whoever led before, and reads what it left. ClientError if that is not possible now."""
        await self._producer.init_transactions()
        await self._topic.catch_up()

    def encode(self, records: Sequence[Record]) -> list[EncodedRecord]:
        """RegistryError if one is too large for a request to the cluster."""
        return encode_records(records, self._producer.settings.request_bytes_max)

    async def write(self, encoded: Sequence[EncodedRecord]) -> None:
        """Returns when the records were read back. LostLeadership if nothing more may be written."""
        committing = asyncio.create_task(self._commit(encoded))
        # A transaction that is given up is aborted first, for which a cluster that hangs has no answer either.
        await asyncio.wait({committing}, timeout=self._timeout_s)
        if not committing.done():
            committing.cancel()
            raise LostLeadership("a change was not committed in time") from timed_out(
                "Write to the Kafka store timed out"
            )
        try:
            end_offset = committing.result()
        except ClientError as error:
            raise LostLeadership(f"a change was not committed: {error}") from store_failed(str(error))
        await self._topic.until_read(end_offset)

    async def _commit(self, encoded: Sequence[EncodedRecord]) -> int:
        """The offset after the last record."""
        async with self._producer.transaction():
            deliveries = [
                await self._producer.send(self._topic.partition.topic, value, key, partition=0)
                for key, value in encoded
            ]
            return [await delivery for delivery in deliveries][-1].offset + 1

    async def end(self) -> None:
        await self._producer.close()


def encode_records(records: Sequence[Record], bytes_max: int) -> list[EncodedRecord]:
    """Keys and values. RegistryError if one is too large for a request to the cluster."""
    encoded = [(encode_key(record.key), encode_value(record.value)) for record in records]
    if any(len(key) + len(value or b"") >= bytes_max for key, value in encoded):
        raise schema_too_large(f"Write failed because schema is too large: {bytes_max} bytes are the limit")
    return encoded
