"""`kafka-get-offsets`: offsets of partitions as `topic:partition:offset`, with Apache's flags and filters."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.kafka.frame.java_errors import as_java, told
from ottla.cli.kafka.frame.options import ToolParser, tool_access
from ottla.cli.offsets.command import PLACES
from ottla.cli.words.whole_numbers import int64

if TYPE_CHECKING:
    from ottla.client import Client, TopicPartition
    from ottla.client.offsets import ListedOffset

# A topic's pattern, and after the colon a partition or a range that excludes its end.
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")

Filter = Callable[[str, int], bool]


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = ToolParser("kafka-get-offsets", "Gets the offsets of topics' partitions.")
    parser.add_bootstrap("--broker-list")
    parser.add_argument("--topic", metavar="REGEX", help="topics; default all")
    parser.add_argument("--partitions", metavar="IDS", help="partitions of these topics, with commas between them")
    parser.add_argument("--topic-partitions", metavar="RULES", help="topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3")
    parser.add_argument("--time", default="latest", metavar="WHEN", help=f"milliseconds, or {', '.join(PLACES)}")
    parser.add_argument("--exclude-internal-topics", action="store_true", help="leave internal topics out")
    options = parser.parse(arguments)
    parser.require(options, "bootstrap-server")
    try:
        at = _time(options.time)
        is_meant = partition_filter(options)
        found = with_client(tool_access(options), lambda client: _ask(client, options, is_meant, at))
    except CommandError as error:
        print(f"Error occurred: {told(error)}", file=sys.stderr)
        return ExitCode.FAILED
    # By name, so that partition 10 comes before partition 2, as with Apache.
    for partition, answer in sorted(found.items(), key=lambda item: str(item[0])):
        if answer.error is not None:
            print(
                f"Skip getting offsets for topic-partition {partition} due to error: {as_java(answer.error)}",
                file=sys.stderr,
            )
        elif answer.offset >= 0:
            print(f"{partition.topic}:{partition.partition}:{answer.offset}")
    return ExitCode.DONE


def _time(text: str) -> int:
    if text in PLACES:
        return PLACES[text]
    try:
        return int64(text)
    except ValueError:
        known = " / ".join(f"{number} or {name}" for name, number in PLACES.items())
        raise UsageError(
            f"Malformed time argument {text}. Please use {known}, or a specified long format timestamp"
        ) from None


def partition_filter(options: argparse.Namespace) -> Filter:
    """Which partitions the line means."""
    if options.topic_partitions is not None:
        if options.topic is not None or options.partitions is not None:
            raise UsageError("--topic-partitions cannot be used with --topic or --partitions")
        rules = [_rule(text) for text in options.topic_partitions.split(",")]
        return lambda topic, partition: any(rule(topic, partition) for rule in rules)
    # Commas divide patterns, as bars do.
    pattern = ".*" if options.topic is None else options.topic.strip().replace(",", "|").replace(" ", "")
    topics = _compiled(pattern)
    numbers = _numbers(options.partitions)
    return lambda topic, partition: bool(topics.fullmatch(topic)) and (not numbers or partition in numbers)


def _numbers(text: str | None) -> set[int]:
    try:
        return {int(number) for number in text.split(",") if number} if text else set()
    except ValueError:
        raise UsageError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def _rule(text: str) -> Filter:
    match = _RULE.fullmatch(text)
    if match is None:
        raise UsageError(f"Invalid rule specification: {text}")
    topic_pattern, single, low, high = match.groups()
    topics = _compiled(topic_pattern or ".*")
    first = int(single or low or 0)
    last = int(single) + 1 if single else int(high) if high else None
    return lambda topic, partition: (
        bool(topics.fullmatch(topic)) and partition >= first and (last is None or partition < last)
    )


def _compiled(pattern: str) -> "re.Pattern[str]":
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern} is an invalid regex.") from error


async def _ask(
    client: "Client", options: argparse.Namespace, is_meant: Filter, at: int
) -> "dict[TopicPartition, ListedOffset]":
    from ottla.client import OffsetSpec, TopicPartition

    topics = await client.admin.describe_topics()
    partitions = [
        TopicPartition(topic.name, one.partition)
        for topic in topics.values()
        if not (options.exclude_internal_topics and topic.is_internal)
        for one in topic.partitions
        if is_meant(topic.name, one.partition)
    ]
    if not partitions:
        raise CommandError("Could not match any topic-partitions with the specified filters")
    if at < min(OffsetSpec):
        raise CommandError(f"{at} is neither a time nor one of the places in a partition.")
    return await client.admin.list_offsets(dict.fromkeys(partitions, at))
