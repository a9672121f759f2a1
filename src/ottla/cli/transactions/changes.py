"""Ending transactions by force: a marker in one partition, or a fence before all of a producer's."""

import argparse
import time
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error
from ottla.cli.output import print_rows
from ottla.cli.transactions.producers import producer_row
from ottla.cli.verbs import output_format
from ottla.cli.words.partitions import parse_selection, resolve_selections

if TYPE_CHECKING:
    from ottla.cli.outcomes import Errors
    from ottla.client import Client, TopicPartition
    from ottla.client.admin.producers import ActiveProducer

_ABORT_COLUMNS: Final = (
    "topic",
    "partition",
    "transaction_start_offset",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "last_timestamp_ms",
)
_TERMINATE_COLUMNS: Final = ("transactional_id", "state", "producer_id", "duration_ms", "partitions")


def abort_transaction(options: argparse.Namespace) -> int:
    """Show the transaction that begins at an offset, and with --execute write an abort marker."""
    selection = parse_selection(options.partition)
    if selection.partitions is None or len(selection.partitions) != 1:
        raise UsageError(f"{options.partition} is not one partition.", remedy="Write TOPIC:PARTITION, as in orders:0.")

    async def work(client: "Client") -> "tuple[TopicPartition, ActiveProducer, bool]":
        (partition,) = await resolve_selections(client, [selection])
        producer = await open_transaction(client, partition, options.start_offset)
        if acts := may_act(options, {}):
            await client.admin.abort_transaction(
                partition,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                # A partition that has seen no marker of the producer knows no coordinator: any may write the first.
                coordinator_epoch=max(producer.coordinator_epoch, 0),
            )
        return partition, producer, acts

    partition, producer, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _ABORT_COLUMNS, [producer_row(partition, producer)])
    return report_outcome("ottla transactions", {}, acted=acted)


async def open_transaction(client: "Client", partition: "TopicPartition", start_offset: int) -> "ActiveProducer":
    """The producer whose transaction begins at an offset."""
    described = (await client.admin.describe_producers([partition]))[partition]
    if described.error is not None:
        raise command_error(described.error) from described.error
    for producer in described.producers:
        if producer.has_open_transaction and producer.transaction_start_offset == start_offset:
            return producer
    raise CommandError(
        f"No transaction that is open in {partition} begins at offset {start_offset}.",
        ExitCode.NOT_FOUND,
        remedy=f"`ottla transactions producers {partition.topic}:{partition.partition}` shows those that are open.",
    )


def force_terminate(options: argparse.Namespace) -> int:
    """Show what is open, and with --execute take the ids from their producers."""
    ids = list(dict.fromkeys(options.transactional_id))

    async def work(client: "Client") -> "tuple[list[dict[str, object]], Errors, bool]":
        now_ms = time.time_ns() // 1_000_000
        found = await client.admin.describe_transactions(ids)
        # Fencing an id that is not there would make it.
        errors: Errors = {name: row.error for name, row in found.items()}
        rows: list[dict[str, object]] = [
            {
                "transactional_id": name,
                "state": row.state,
                "producer_id": row.producer_id,
                "duration_ms": max(0, now_ms - row.start_ms) if row.start_ms >= 0 else None,
                "partitions": sorted(map(str, row.partitions)),
            }
            for name, row in found.items()
            if row.error is None
        ]
        if acts := may_act(options, errors):
            outcome = await client.admin.fence_producers(ids)
            errors = {name: error if isinstance(error, Exception) else None for name, error in outcome.items()}
        return rows, errors, acts

    rows, errors, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _TERMINATE_COLUMNS, rows, errors=errors)
    return report_outcome("ottla transactions", errors, acted=acted)
