"""Ending transactions by force: a marker in one partition, or a fence before all of a producer's.

A marker bypasses the coordinator. In a transaction that the coordinator is going to end, it would abort one partition
of what is then committed in the others; so it is written only where the transaction hangs, or with --force.
"""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode, UsageError, command_error
from ottla.cli.output import print_rows
from ottla.cli.transactions.descriptions import is_open, transaction_row
from ottla.cli.transactions.producers import producer_row
from ottla.cli.verbs import output_format
from ottla.cli.words.partitions import TopicSelection, parse_selection, resolve_selections

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ottla.cli.outcomes import Errors
    from ottla.client import Client, TopicPartition
    from ottla.client.admin.producers import ActiveProducer
    from ottla.client.admin.transactions import TransactionDescription

_ABORT_COLUMNS: Final = (
    "topic",
    "partition",
    "transaction_start_offset",
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "last_timestamp_ms",
    "done",
)
_TERMINATE_COLUMNS: Final = ("transactional_id", "state", "producer_id", "duration_ms", "partitions", "done")


def abort_transaction(options: argparse.Namespace) -> int:
    """Show the transaction that begins at an offset, and with --execute write an abort marker."""
    selection = _one_partition(options)

    async def work(client: "Client") -> "tuple[dict[str, object], Errors, bool]":
        (partition,) = await resolve_selections(client, [selection])
        producer = await open_transaction(client, partition, options.start_offset)
        owner = await _owner(client, producer.producer_id)
        problem = None if options.force else _problem(owner, partition)
        errors: Errors = {str(partition): problem}
        if acts := may_act(options, errors):
            await client.admin.abort_transaction(
                partition,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                # A partition that has seen no marker of the producer knows no coordinator: any may write the first.
                coordinator_epoch=max(producer.coordinator_epoch, 0),
            )
        named = {"transactional_id": None if owner is None else owner.transactional_id, "done": acts}
        return producer_row(partition, producer) | named, errors, acts

    row, errors, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _ABORT_COLUMNS, [row])
    return report_outcome("ottla transactions", errors, acted=acted)


def _one_partition(options: argparse.Namespace) -> TopicSelection:
    text = options.partition
    selection = parse_selection(text)
    if selection.partitions is None:
        raise UsageError(
            f"{text} is not one partition: write TOPIC:PARTITION, as in orders:0.",
            remedy=f"If it is a transactional id: ottla transactions force-terminate {text}",
        )
    if len(selection.partitions) != 1:
        raise UsageError(f"{text} is not one partition.", remedy="Write TOPIC:PARTITION, as in orders:0.")
    if options.start_offset is None:
        raise UsageError(
            "which transaction? --start-offset OFFSET says where it begins.",
            remedy=f"`ottla transactions producers {text}` shows those that are open.",
        )
    return selection


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


async def _owner(client: "Client", producer_id: int) -> "TransactionDescription | None":
    """The transactional id of a producer with its transaction; None if no coordinator knows it."""
    listed = await client.admin.list_transactions(producer_ids=[producer_id])
    described = await client.admin.describe_transactions(row.transactional_id for row in listed)
    for name, found in described.items():
        # An id that has expired since no longer exists; nothing may be assumed about others that cannot be described.
        if found.error is not None and found.error.code.name != "TRANSACTIONAL_ID_NOT_FOUND":
            failed = command_error(found.error)
            raise CommandError(f"{name}: {failed}", failed.code, failed.remedy) from found.error
    return next((found for found in described.values() if found.error is None), None)


def _problem(owner: "TransactionDescription | None", partition: "TopicPartition") -> CommandError | None:
    if owner is None or not is_open(owner) or partition not in owner.partitions:
        return None
    return CommandError(
        f"this transaction does not hang: its coordinator has it as {owner.state}, of {owner.transactional_id}, and "
        f"will end it. A marker in one of its {len(owner.partitions)} partitions could tear it in two.",
        ExitCode.CONFLICT,
        remedy=f"To abort all of it: ottla transactions force-terminate {owner.transactional_id} --execute. "
        "To write the marker nevertheless, add --force.",
    )


def force_terminate(options: argparse.Namespace) -> int:
    """Show what is open, and with --execute fence the producers of the ids."""
    ids = list(dict.fromkeys(options.transactional_id))

    async def work(client: "Client") -> "tuple[list[TransactionDescription], dict[str, str], Errors, bool]":
        found = await client.admin.describe_transactions(ids)
        # Fencing an id that is not there would make it.
        errors: Errors = {name: row.error for name, row in found.items()}
        shown = [row for row in found.values() if row.error is None]
        states = {row.transactional_id: row.state for row in shown}
        if acts := may_act(options, errors):
            outcome = await client.admin.fence_producers(ids)
            errors = {name: error if isinstance(error, Exception) else None for name, error in outcome.items()}
            states |= {name: row.state for name, row in (await client.admin.describe_transactions(ids)).items()}
        return shown, states, errors, acts

    now_ms = time.time_ns() // 1_000_000
    found, states, errors, acted = with_client(cluster_access(options), work)
    rows = [
        transaction_row(row, now_ms)
        | {"state": states[row.transactional_id], "done": acted and errors[row.transactional_id] is None}
        for row in found
    ]
    print_rows(output_format(options), _TERMINATE_COLUMNS, rows, errors=errors)
    _tell_of_nothing_open(found)
    return report_outcome("ottla transactions", errors, acted=acted)


def _tell_of_nothing_open(found: "Iterable[TransactionDescription]") -> None:
    """Explain that fencing ends only what the coordinator knows to be open, which a hanging transaction is not."""
    for row in found:
        if not is_open(row):
            print(
                f"ottla transactions: {row.transactional_id}: its coordinator has no transaction of it open, so there "
                "is none to abort.\n"
                "  If readers wait for one: `ottla transactions find-hanging` finds it, `ottla transactions abort` "
                "ends it.",
                file=sys.stderr,
            )
