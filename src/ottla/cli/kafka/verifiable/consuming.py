"""The run of a verifiable consumer: partitions, records and commits, each reported when it happens."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.verifiable import tell_event
from ottla.client import ClientError, RebalanceListener, TopicPartition

if TYPE_CHECKING:
    from signal import Signals

    from ottla.client import Client, Consumer, Record

_POLL_MS: Final = 1_000


class _Events(RebalanceListener):
    """Reports which partitions are assigned and revoked."""

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        tell_event("partitions_assigned", partitions=_rows(partitions))

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        tell_event("partitions_revoked", partitions=_rows(partitions))

    async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        tell_event("partitions_revoked", partitions=_rows(partitions))


def _rows(partitions: Iterable[TopicPartition]) -> list[dict[str, object]]:
    return [{"topic": partition.topic, "partition": partition.partition} for partition in sorted(partitions)]


class VerifiableConsumer:
    """One run."""

    def __init__(self, options: argparse.Namespace, properties: dict[str, str]) -> None:
        from ottla.cli.access.client_properties import consumer_settings, group_settings

        self._options = options
        self._properties = properties
        self._settings = consumer_settings(properties)
        self._group = group_settings(options.group_id, properties)
        if self._group.session_timeout_ms <= self._group.heartbeat_interval_ms:
            interval_ms = max(1, self._group.session_timeout_ms // 3)
            self._group = replace(self._group, heartbeat_interval_ms=interval_ms)
        self._count = 0

    def run(self) -> int:
        from ottla.cli.interruption import exit_code_of_signal, until_interrupted

        async def work(client: "Client") -> "Signals | None":
            async with client.consumer(self._settings, self._group) as consumer:
                tell_event("startup_complete")
                consumer.subscribe([self._options.topic], _Events())
                received = await until_interrupted(self._consume(consumer))
                if received is not None:
                    tell_event("shutdown_requested")
            return received

        received = with_client(client_options.cluster(self._options, self._properties), work)
        tell_event("shutdown_complete")
        if received is None:
            tell_event("shutdown_requested")
        return exit_code_of_signal(received)

    async def _consume(self, consumer: "Consumer") -> None:
        most = self._options.max_messages
        while most < 0 or self._count < most:
            wanted = None if most < 0 else min(most - self._count, self._settings.max_poll_records)
            records = await consumer.poll(_POLL_MS, max_records=wanted)
            if records:
                self._count += len(records)
                self._tell(records)
                if not self._options.enable_autocommit:
                    await self._commit(consumer, records)

    def _tell(self, records: Sequence["Record"]) -> None:
        if self._options.verbose:
            for record in records:
                tell_event(
                    "record_data",
                    key=_text(record.key),
                    value=_text(record.value),
                    topic=record.topic,
                    partition=record.partition,
                    offset=record.offset,
                )
        offsets: dict[TopicPartition, list[int]] = {}
        for record in records:
            offsets.setdefault(TopicPartition(record.topic, record.partition), []).append(record.offset)
        partitions = [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "count": len(found),
                "minOffset": min(found),
                "maxOffset": max(found),
            }
            for partition, found in offsets.items()
        ]
        tell_event("records_consumed", count=len(records), partitions=partitions)

    async def _commit(self, consumer: "Consumer", records: Sequence["Record"]) -> None:
        offsets = {TopicPartition(record.topic, record.partition): record.offset + 1 for record in records}
        rows = [
            {**row, "offset": offsets[partition]}
            for partition, row in zip(sorted(offsets), _rows(offsets), strict=True)
        ]
        try:
            await consumer.commit(offsets)
        except ClientError as error:
            tell_event("offsets_committed", offsets=rows, success=False, error=str(error))
        else:
            tell_event("offsets_committed", offsets=rows, success=True)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
