"""`ottla topics describe`: settings, partitions, offsets and sizes of topics."""

import argparse
import sys
import time
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.output import OutputFormat, Row, print_object, print_rows
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.cli.outcomes import Errors
    from ottla.cli.topics.measures import PartitionMeasure
    from ottla.cli.topics.states import TopicState
    from ottla.client import Client, TopicPartition
    from ottla.client.admin.topics import PartitionDescription

_TOPIC_COLUMNS = ("topic", "topic_id", "internal", "partition_count", "replication_factor", "size_bytes", "configs")
_PARTITION_COLUMNS = (
    "partition",
    "leader",
    "leader_epoch",
    "replicas",
    "in_sync",
    "offline",
    "start_offset",
    "last_stable_offset",
    "end_offset",
    "size_bytes",
)


def describe_topics(options: argparse.Namespace) -> int:
    """One description for each topic."""
    from ottla.cli.outcomes import report_errors

    async def ask(client: "Client") -> "tuple[list[dict[str, object]], list[list[Row]], list[str], Errors]":
        from ottla.cli.topics.future_records import future_records
        from ottla.cli.topics.measures import measure, unknown_offsets
        from ottla.cli.topics.states import topic_states
        from ottla.cli.words.names import select_topics

        names, missing = select_topics(await client.admin.list_topics(include_internal=True), options.topics)
        states = await topic_states(client, names)
        measures = await measure(client, [state.topic for state in states.values()])
        partitions = [_partition_rows(state, measures) for state in states.values()]
        topics = [_topic_row(state, rows) for state, rows in zip(states.values(), partitions, strict=True)]
        warnings = await future_records(client, states.values(), measures, time.time_ns() // 1_000_000)
        return topics, partitions, warnings, {**missing, **unknown_offsets(measures)}

    topics, partitions, warnings, errors = with_client(cluster_access(options), ask)
    shape = output_format(options)
    if shape is OutputFormat.TABLE:
        for number, (topic, rows) in enumerate(zip(topics, partitions, strict=True)):
            if number:
                print()
            print_object(shape, topic)
            print()
            print_rows(shape, _PARTITION_COLUMNS, rows)
    else:
        nested = [topic | {"partitions": rows} for topic, rows in zip(topics, partitions, strict=True)]
        print_rows(shape, (*_TOPIC_COLUMNS, "partitions"), nested)
    for warning in warnings:
        print(f"ottla topics: warning: {warning}", file=sys.stderr)
    return report_errors("ottla topics", errors)


def _topic_row(state: "TopicState", partitions: "list[Row]") -> dict[str, object]:
    from ottla.cli.topics.measures import total
    from ottla.protocol.uuids import uuid_to_text

    sizes = (row["size_bytes"] for row in partitions)
    return {
        "topic": state.topic.name,
        "topic_id": uuid_to_text(state.topic.topic_id),
        "internal": state.topic.is_internal,
        "partition_count": len(partitions),
        "replication_factor": state.topic.replication_factor,
        "size_bytes": total(size if isinstance(size, int) else None for size in sizes),
        "configs": state.changed_configs,
    }


def _partition_rows(state: "TopicState", measures: "dict[TopicPartition, PartitionMeasure]") -> "list[Row]":
    from ottla.client import TopicPartition

    return [
        _partition_row(partition, measures[TopicPartition(state.topic.name, partition.partition)])
        for partition in state.topic.partitions
    ]


def _partition_row(partition: "PartitionDescription", measured: "PartitionMeasure") -> Row:
    return {
        "partition": partition.partition,
        "leader": partition.leader_id if partition.leader_id >= 0 else None,
        "leader_epoch": partition.leader_epoch,
        "replicas": list(partition.replicas),
        "in_sync": list(partition.in_sync),
        "offline": list(partition.offline),
        "start_offset": measured.start_offset,
        "last_stable_offset": measured.last_stable_offset,
        "end_offset": measured.end_offset,
        "size_bytes": measured.size_bytes,
    }
