"""Writes to `_schemas` as the one instance that leads.

Changes are transactions under the registry's own transactional id; those that wait together make one. A new leader
takes that id before it decides anything, which fences the one before: whatever that one still sends is refused, and
never shows. Then it reads all that was committed, so that it decides with everything. From then on nobody else writes,
and its own state is the newest as soon as it has read its own records.

When the outcome of a transaction is not known, or its records were not read back in time, it stops leading: the next
leader reads what came of it. So every wait is bounded, and no id is given twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from ottla.client import Client, ClientError, ProducerSettings
from ottla.client.errors import KafkaError
from ottla.protocol.errors import ErrorCode
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
        self._restart_count = topic.restart_count
        self._producer = client.producer(
            ProducerSettings(
                transactional_id=f"{group_id}-{topic.partition.topic}",
                transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
                linger_ms=0,
                auto_create_topics=False,
                max_block_ms=timeout_ms,
                delivery_timeout_ms=timeout_ms,
            )
        )

    async def begin(self) -> None:
        """Fences whoever led before, and reads what it left. ClientError or TimeoutError if that is not possible."""
        await self._producer.init_transactions()
        async with asyncio.timeout(self._timeout_s):
            await self._topic.catch_up()
        self._restart_count = self._topic.restart_count

    def encode(self, records: Sequence[Record]) -> list[EncodedRecord]:
        """RegistryError if one is too large for a request to the cluster."""
        return encode_records(records, self._producer.settings.request_bytes_max)

    async def write(self, encoded: Sequence[EncodedRecord]) -> None:
        """Returns when the records were read back. LostLeadership if nothing more may be written."""
        if self._topic.restart_count != self._restart_count:
            raise LostLeadership("the topic of the schemas was made anew, and is not read yet")
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._topic.until_read(await self._commit(encoded))
        except TimeoutError:
            raise LostLeadership("a change was not committed and read back in time") from timed_out(
                "Write to the Kafka store timed out"
            )
        except ClientError as error:
            raise LostLeadership(f"a change was not committed: {error}") from store_failed(str(error))

    async def _commit(self, encoded: Sequence[EncodedRecord]) -> int:
        """The offset after the last of them. What fails in between is aborted with the end of the leadership."""
        self._producer.begin_transaction()
        try:
            deliveries = [
                await self._producer.send(self._topic.partition.topic, value, key, partition=0)
                for key, value in encoded
            ]
            last = [await delivery for delivery in deliveries][-1]
        except KafkaError as error:
            if error.code is not ErrorCode.MESSAGE_TOO_LARGE:
                raise
            # It is the schema's fault: whoever leads can go on.
            await self._producer.abort_transaction()
            raise schema_too_large(f"Write failed because schema is too large: {error.message}") from error
        await self._producer.commit_transaction()
        return last.offset + 1

    async def end(self) -> None:
        await self._producer.close()


def encode_records(records: Sequence[Record], bytes_max: int) -> list[EncodedRecord]:
    """Keys and values. RegistryError if one is too large for a request to the cluster."""
    encoded = [(encode_key(record.key), encode_value(record.value)) for record in records]
    if any(len(key) + len(value or b"") >= bytes_max for key, value in encoded):
        raise schema_too_large(f"Write failed because schema is too large: {bytes_max} bytes are the limit")
    return encoded
