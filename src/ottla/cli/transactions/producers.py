"""What partitions remember of their producers: all of it, or the transactions that hang there."""

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.outcomes import Errors, report_errors
from ottla.cli.output import print_rows
from ottla.cli.verbs import output_format
from ottla.cli.words.moments import parse_duration_option
from ottla.cli.words.partitions import parse_selection, resolve_selections

if TYPE_CHECKING:
    from ottla.client import Client, TopicPartition
    from ottla.client.admin.producers import ActiveProducer

_COLUMNS: Final = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "last_sequence",
    "last_timestamp_ms",
    "transaction_start_offset",
)
HANGING_COLUMNS: Final = (
    "topic",
    "partition",
    "transaction_start_offset",
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "last_timestamp_ms",
    "age_ms",
)


def describe_producers(options: argparse.Namespace) -> int:
    """The producers of partitions."""
    selections = list(map(parse_selection, options.topic))

    async def ask(client: "Client") -> "tuple[list[dict[str, object]], Errors]":
        partitions = await resolve_selections(client, selections)
        found = await client.admin.describe_producers(partitions, broker_id=options.broker)
        rows = [producer_row(one, producer) for one in partitions for producer in found[one].producers]
        return rows, {str(one): found[one].error for one in partitions}

    rows, errors = with_client(cluster_access(options), ask)
    print_rows(output_format(options), _COLUMNS, rows, errors=errors)
    return report_errors("ottla transactions", errors)


def find_hanging(options: argparse.Namespace) -> int:
    """Transactions that will not end by themselves."""
    selections = list(map(parse_selection, options.topic))
    timeout_ms = parse_duration_option("--max-transaction-timeout", options.max_transaction_timeout)
    now_ms = time.time_ns() // 1_000_000

    async def ask(client: "Client") -> list[dict[str, object]]:
        partitions = await resolve_selections(client, selections) if selections else await all_partitions(client)
        if options.broker is not None:
            await _check_broker(client, options.broker)
            partitions = await replicas_at(client, partitions, options.broker)
        found = await client.admin.find_hanging_transactions(
            partitions, now_ms=now_ms, max_transaction_timeout_ms=timeout_ms, broker_id=options.broker
        )
        return [
            producer_row(hanging.partition, hanging.producer)
            | {
                "transactional_id": hanging.transactional_id,
                "age_ms": now_ms - hanging.producer.last_timestamp_ms,
            }
            for hanging in found
        ]

    print_rows(output_format(options), HANGING_COLUMNS, with_client(cluster_access(options), ask))
    return ExitCode.DONE


def producer_row(partition: "TopicPartition", producer: "ActiveProducer") -> dict[str, object]:
    """A producer of a partition as a row; what a partition does not know is None."""
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": _known(producer.coordinator_epoch),
        "last_sequence": _known(producer.last_sequence),
        "last_timestamp_ms": _known(producer.last_timestamp_ms),
        "transaction_start_offset": _known(producer.transaction_start_offset),
    }


async def all_partitions(client: "Client") -> "list[TopicPartition]":
    """Every partition of the cluster, those of internal topics too."""
    from ottla.client import TopicPartition

    await client.cluster.refresh(None)
    topics = client.cluster.metadata.topics.values()
    return sorted(TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)


async def replicas_at(
    client: "Client", partitions: "Sequence[TopicPartition]", broker_id: int
) -> "list[TopicPartition]":
    """Those partitions of which a broker has a replica."""
    await client.cluster.refresh({partition.topic for partition in partitions})
    infos = {partition: client.cluster.metadata.partition(partition) for partition in partitions}
    return [partition for partition, info in infos.items() if info is not None and broker_id in info.replicas]


async def _check_broker(client: "Client", broker_id: int) -> None:
    """A broker that is not there has no replicas, which would look as if nothing hung in them."""
    brokers = sorted(broker.node_id for broker in (await client.admin.describe_cluster()).brokers)
    if broker_id not in brokers:
        raise CommandError(
            f"there is no broker {broker_id}; there are: {', '.join(map(str, brokers))}.", ExitCode.UNAVAILABLE
        )


def _known(number: int) -> int | None:
    return None if number < 0 else number
