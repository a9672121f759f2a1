"""`kafka-topics`: create, delete, describe, list topics and add partitions, with Apache's flags and output."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.kafka.frame.java_errors import as_java, told
from ottla.cli.kafka.frame.options import tool_access
from ottla.cli.kafka.topics.topic_options import (
    PARTITION_FILTERS,
    chosen_action,
    parse_replica_assignment,
    topic_parser,
)

if TYPE_CHECKING:
    from ottla.cli.topics.states import TopicState
    from ottla.client import Client
    from ottla.client.admin.topics import PartitionDescription, TopicListing

_COLLISION_WARNING: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
_KAFKA_CLASS: Final = "org.apache.kafka.tools.TopicCommand"


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = topic_parser()
    options = parser.parse(arguments)
    try:
        action = chosen_action(parser, options)
    except UsageError as error:
        print(error, file=sys.stderr)
        return ExitCode.FAILED
    work = {"create": _create, "list": _list, "alter": _alter, "describe": _describe, "delete": _delete}[action]
    try:
        return with_client(tool_access(options), lambda client: work(client, options))
    except CommandError as error:
        print(f"Error while executing topic command : {told(error)}")
        print(f"ERROR {as_java(error)} ({_KAFKA_CLASS})", file=sys.stderr)
        return ExitCode.FAILED


async def _create(client: "Client", options: argparse.Namespace) -> int:
    from ottla.client import NewTopic
    from ottla.protocol.errors import ErrorCode

    for name in ("partitions", "replication_factor"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise CommandError(f"The {name.replace('_', ' ')} must be greater than 0")
    if "." in options.topic or "_" in options.topic:
        print(_COLLISION_WARNING)
    topic = NewTopic(
        options.topic,
        options.partitions or -1,
        options.replication_factor or -1,
        _configs(options.config or ()),
        dict(enumerate(parse_replica_assignment(options.replica_assignment))) if options.replica_assignment else {},
    )
    error = (await client.admin.create_topics([topic]))[topic.name].error
    if error is None:
        print(f"Created topic {topic.name}.")
    elif not (options.if_not_exists and error.code is ErrorCode.TOPIC_ALREADY_EXISTS):
        raise error
    return ExitCode.DONE


def _configs(given: Sequence[str]) -> dict[str, str]:
    configs = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator:
            wanted = 'all configs to be added must be in the format "key=val".'
            raise CommandError(f"requirement failed: Invalid topic config: {wanted}")
        configs[name.strip()] = value.strip()
    return configs


async def _list(client: "Client", options: argparse.Namespace) -> int:
    # Without topics there is one empty line: that is what joining nothing by line ends gives.
    print("\n".join(topic.name for topic in await _matching(client, options)))
    return ExitCode.DONE


async def _alter(client: "Client", options: argparse.Namespace) -> int:
    assignment = parse_replica_assignment(options.replica_assignment) if options.replica_assignment else None
    topics = await _existing(client, options)
    counts = {topic.name: options.partitions for topic in topics}
    assignments = {}
    if assignment is not None:
        described = await client.admin.describe_topics(counts)
        # Those of the partitions that exist are named as well, and stay as they are.
        assignments = {name: assignment[len(topic.partitions) :] for name, topic in described.items()}
    if counts:
        for error in (await client.admin.create_partitions(counts, assignments=assignments)).values():
            if error is not None:
                raise error
    return ExitCode.DONE


async def _delete(client: "Client", options: argparse.Namespace) -> int:
    names = [topic.name for topic in await _existing(client, options)]
    if names:
        for error in (await client.admin.delete_topics(names)).values():
            if error is not None:
                raise error
    return ExitCode.DONE


async def _describe(client: "Client", options: argparse.Namespace) -> int:
    from ottla.cli.topics.states import topic_states

    names = [topic.name for topic in await _existing(client, options)]
    limit = options.partition_size_limit_per_response or 2000
    states = await topic_states(client, names, partitions_per_response=limit)
    live = set(client.cluster.metadata.nodes)
    filtered = any(getattr(options, name) for name in PARTITION_FILTERS)
    for state in states.values():
        if options.topics_with_overrides:
            if state.changed_configs:
                print(_topic_line(state))
            continue
        if not filtered:
            print(_topic_line(state))
        for partition in state.topic.partitions:
            if not filtered or _is_wanted(partition, state, live, options):
                print(_partition_line(state.topic.name, partition))
    return ExitCode.DONE


def _is_wanted(
    partition: "PartitionDescription", state: "TopicState", live: set[int], options: argparse.Namespace
) -> bool:
    from ottla.cli.topics import states

    return (
        (options.under_replicated_partitions and states.is_under_replicated(partition))
        or (options.unavailable_partitions and states.is_unavailable(partition, live))
        or (options.under_min_isr_partitions and states.is_under_min_isr(partition, state.min_in_sync))
        or (options.at_min_isr_partitions and states.is_at_min_isr(partition, state.min_in_sync))
    )


def _topic_line(state: "TopicState") -> str:
    from ottla.protocol.uuids import ZERO_UUID, uuid_to_text

    topic = state.topic
    topic_id = "" if topic.topic_id == ZERO_UUID else f"\tTopicId: {uuid_to_text(topic.topic_id)}"
    configs = ",".join(f"{name}={value}" for name, value in state.changed_configs.items())
    return (
        f"Topic: {topic.name}{topic_id}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {topic.replication_factor}\tConfigs: {configs}"
    )


def _partition_line(topic: str, partition: "PartitionDescription") -> str:
    leader = "none" if partition.leader_id < 0 else str(partition.leader_id)
    return (
        f"\tTopic: {topic}\tPartition: {partition.partition}\tLeader: {leader}"
        f"\tReplicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.in_sync)}"
        f"\tElr: {_ids(partition.eligible_leaders)}\tLastKnownElr: {_ids(partition.last_known_eligible_leaders)}"
    )


def _ids(ids: tuple[int, ...] | None) -> str:
    return "N/A" if ids is None else ",".join(map(str, ids))


async def _existing(client: "Client", options: argparse.Namespace) -> "list[TopicListing]":
    """The topics that the options mean; there must be one if they name any, unless they say otherwise."""
    found = await _matching(client, options)
    if not found and not options.if_exists:
        if options.topic_id is not None:
            raise CommandError(f"TopicId '{options.topic_id}' does not exist as expected")
        if options.topic is not None:
            raise CommandError(f"Topic '{options.topic}' does not exist as expected")
    return found


async def _matching(client: "Client", options: argparse.Namespace) -> "list[TopicListing]":
    listed = await client.admin.list_topics(include_internal=not options.exclude_internal)
    if options.topic_id is not None:
        from ottla.protocol.uuids import uuid_from_text

        try:
            topic_id = uuid_from_text(options.topic_id)
        except ValueError as error:
            raise CommandError(f"--topic-id {options.topic_id}: {error}") from error
        return [topic for topic in listed if topic.topic_id == topic_id]
    if options.topic is None:
        return list(listed)
    pattern = include_list(options.topic)
    return [topic for topic in listed if pattern.fullmatch(topic.name)]


def include_list(text: str) -> re.Pattern[str]:
    """The pattern of an include list: names or regular expressions with commas between them."""
    written = "|".join(part.strip() for part in text.strip("\"'").split(","))
    try:
        return re.compile(written)
    except re.error as error:
        raise CommandError(f"{text} is an invalid regex: {error}") from error
