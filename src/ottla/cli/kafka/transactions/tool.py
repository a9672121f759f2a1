"""`kafka-transactions`: list and describe transactions, find those that hang, and abort them."""

import argparse
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import told
from ottla.cli.kafka.frame.options import tool_access
from ottla.cli.kafka.transactions import transaction_options as commands
from ottla.cli.transactions.producers import all_partitions, replicas_at

if TYPE_CHECKING:
    from ottla.client import Client, TopicPartition
    from ottla.client.admin.producers import ActiveProducer

Table = list[Sequence[object]]

_MINUTE_MS: Final = 60_000
_DETAIL: Final = "Enable debug logging for additional detail."


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    options = commands.transactions_parser().parse_args(arguments)
    try:
        _check(options)
        table = with_client(tool_access(options), lambda client: _RUNS[options.command](client, options))
    except CommandError as error:
        text = str(error)
        if error.__cause__ is not None:
            text = f"{_FAILURES[options.command].format(**vars(options))}: {told(error)}. {_DETAIL}"
        print(text, file=sys.stderr)
        return ExitCode.FAILED
    if table:
        print(table_text(table), end="")
    return ExitCode.DONE


def table_text(table: Table) -> str:
    """Columns as wide as their widest cell, a tab behind each."""
    cells = [list(map(str, row)) for row in table]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "".join(
        "".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) + "\n" for row in cells
    )


def _check(options: argparse.Namespace) -> None:
    if options.command == commands.FIND_HANGING:
        if options.topic is None and options.partition is not None:
            raise CommandError("The --partition argument requires --topic to be provided")
        if options.topic is None and options.broker_id is None:
            raise CommandError(
                "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
            )
    if options.command == commands.ABORT and options.start_offset is None:
        if options.producer_id is None:
            raise CommandError(
                "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) "
                "or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
            )
        for name in ("producer_epoch", "coordinator_epoch"):
            if getattr(options, name) is None:
                raise CommandError(f"Missing required argument --{name.replace('_', '-')}")


async def _list(client: "Client", options: argparse.Namespace) -> Table:
    listed = await client.admin.list_transactions(
        longer_than_ms=None if options.duration_filter < 0 else options.duration_filter,
        id_pattern=options.transactional_id_pattern,
    )
    head = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    return [head, *((row.transactional_id, row.coordinator_id, row.producer_id, row.state) for row in listed)]


async def _describe(client: "Client", options: argparse.Namespace) -> Table:
    (found,) = (await client.admin.describe_transactions([options.transactional_id])).values()
    if found.error is not None:
        raise found.error
    is_open = found.start_ms >= 0
    row = {
        "CoordinatorId": found.coordinator_id,
        "TransactionalId": found.transactional_id,
        "ProducerId": found.producer_id,
        "ProducerEpoch": found.producer_epoch,
        "TransactionState": found.state,
        "TransactionTimeoutMs": found.timeout_ms,
        "CurrentTransactionStartTimeMs": found.start_ms if is_open else None,
        "TransactionDurationMs": _now_ms() - found.start_ms if is_open else None,
        "TopicPartitions": ",".join(map(str, found.partitions)),
    }
    return [tuple(row), tuple(row.values())]


async def _describe_producers(client: "Client", options: argparse.Namespace) -> Table:
    head = (
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    )
    rows = [
        (
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            producer.last_sequence,
            producer.last_timestamp_ms,
            producer.transaction_start_offset if producer.has_open_transaction else None,
        )
        for producer in await _producers(client, _partition(options), options.broker_id)
    ]
    return [head, *rows]


async def _abort(client: "Client", options: argparse.Namespace) -> Table:
    partition = _partition(options)
    if options.start_offset is None:
        ids = (options.producer_id, options.producer_epoch, options.coordinator_epoch)
    else:
        ids = await _identified(client, partition, options.start_offset)
    producer_id, producer_epoch, coordinator_epoch = ids
    await client.admin.abort_transaction(
        partition,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=max(coordinator_epoch, 0),
    )
    return []


async def _identified(client: "Client", partition: "TopicPartition", start_offset: int) -> tuple[int, int, int]:
    for producer in await _producers(client, partition, None):
        if producer.has_open_transaction and producer.transaction_start_offset == start_offset:
            return producer.producer_id, producer.producer_epoch, producer.coordinator_epoch
    raise CommandError(
        f"Could not find any open transactions starting at offset {start_offset} on partition {partition}"
    )


async def _find_hanging(client: "Client", options: argparse.Namespace) -> Table:
    partitions = await _searched(client, options)
    now_ms = _now_ms()
    found = await client.admin.find_hanging_transactions(
        partitions,
        now_ms=now_ms,
        max_transaction_timeout_ms=options.max_transaction_timeout * _MINUTE_MS,
        broker_id=options.broker_id,
    )
    head = (
        "Topic",
        "Partition",
        "ProducerId",
        "ProducerEpoch",
        "CoordinatorEpoch",
        "StartOffset",
        "LastTimestamp",
        "Duration(min)",
    )
    rows = [
        (
            *hanging.partition,
            hanging.producer.producer_id,
            hanging.producer.producer_epoch,
            hanging.producer.coordinator_epoch,
            hanging.producer.transaction_start_offset,
            hanging.producer.last_timestamp_ms,
            (now_ms - hanging.producer.last_timestamp_ms) // _MINUTE_MS,
        )
        for hanging in found
    ]
    return [head, *rows]


async def _searched(client: "Client", options: argparse.Namespace) -> "list[TopicPartition]":
    from ottla.client import TopicPartition

    if options.topic is None:
        partitions = await all_partitions(client)
    elif options.partition is None:
        topic = await client.cluster.topic(options.topic)
        partitions = [TopicPartition(options.topic, number) for number in topic.partitions]
    else:
        partitions = [_partition(options)]
    return partitions if options.broker_id is None else await replicas_at(client, partitions, options.broker_id)


async def _force_terminate(client: "Client", options: argparse.Namespace) -> Table:
    from ottla.client import ClientError

    (outcome,) = (await client.admin.fence_producers([options.transactional_id])).values()
    if isinstance(outcome, ClientError):
        raise outcome
    return []


async def _producers(
    client: "Client", partition: "TopicPartition", broker_id: int | None
) -> "tuple[ActiveProducer, ...]":
    described = (await client.admin.describe_producers([partition], broker_id=broker_id))[partition]
    if described.error is not None:
        raise described.error
    return described.producers


def _partition(options: argparse.Namespace) -> "TopicPartition":
    from ottla.client import TopicPartition

    return TopicPartition(options.topic, options.partition)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


_RUNS: Final[dict[str, Callable[["Client", argparse.Namespace], Awaitable[Table]]]] = {
    commands.LIST: _list,
    commands.DESCRIBE: _describe,
    commands.DESCRIBE_PRODUCERS: _describe_producers,
    commands.ABORT: _abort,
    commands.FIND_HANGING: _find_hanging,
    commands.FORCE_TERMINATE: _force_terminate,
}
_FAILURES: Final = {
    commands.LIST: "Failed to list transactions",
    commands.DESCRIBE: "Failed to describe transaction state of transactional-id `{transactional_id}`",
    commands.DESCRIBE_PRODUCERS: "Failed to describe producers for partition {topic}-{partition}",
    commands.ABORT: "Failed to abort the transaction in partition {topic}-{partition}",
    commands.FIND_HANGING: "Failed to find hanging transactions",
    commands.FORCE_TERMINATE: "Failed to force terminate transactionalId `{transactional_id}`",
}
