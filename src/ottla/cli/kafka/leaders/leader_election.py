"""`kafka-leader-election`: preferred and unclean elections, with Apache's flags and output."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import as_java, is_of_cluster
from ottla.cli.kafka.frame.options import ToolParser, read_option_file, tool_access
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from ottla.client import Client, KafkaError, TopicPartition

# Exactly one of these says which partitions are meant.
_CHOICES: Final = ("topic", "all-topic-partitions", "path-to-json-file")
# How long the tool waits for the elections.
_TIMEOUT_MS: Final = 30_000


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = ToolParser("kafka-leader-election", "Elects leaders of partitions: preferred replicas, or unclean ones.")
    parser.add_bootstrap(config_names=("--command-config", "--admin.config"))
    parser.add_argument("--election-type", type=str.lower, choices=("preferred", "unclean"))
    parser.add_argument("--topic", help="with --partition")
    parser.add_argument("--partition", type=int32, metavar="NUMBER")
    parser.add_argument("--all-topic-partitions", action="store_true", help="every partition that needs it")
    parser.add_argument(
        "--path-to-json-file", metavar="FILE", help='as in {"partitions": [{"topic": "orders", "partition": 0}]}'
    )
    options = parser.parse(arguments)
    try:
        check_options(options)
        partitions = chosen_partitions(options)
        outcome = with_client(tool_access(options), lambda client: _elect(client, options, partitions))
        report(options.election_type.upper(), outcome)
    except CommandError as error:
        if is_of_cluster(error) and error.code == ExitCode.UNAVAILABLE:
            print("Timeout waiting for election results")
        print(as_java(error) if is_of_cluster(error) else error, file=sys.stderr)
        return ExitCode.FAILED
    return ExitCode.DONE


def check_options(options: argparse.Namespace) -> None:
    """Refuse a line that lacks an option or means several things."""
    missing = [name for name in ("bootstrap-server", "election-type") if getattr(options, _attribute(name)) is None]
    if missing:
        raise CommandError(f"Missing required option(s): {', '.join(missing)}")
    if sum(bool(getattr(options, _attribute(name))) for name in _CHOICES) != 1:
        raise CommandError(f"One and only one of the following options is required: {', '.join(_CHOICES)}")
    if options.topic is not None and options.partition is None:
        raise CommandError("Missing required option(s): partition")
    if options.topic is None and options.partition is not None:
        raise CommandError("Option partition is only allowed if topic is used")


def _attribute(option: str) -> str:
    return option.replace("-", "_")


def chosen_partitions(options: argparse.Namespace) -> "list[TopicPartition] | None":
    """The partitions that the line means; None is all of them."""
    from ottla.client import TopicPartition

    if options.all_topic_partitions:
        return None
    if options.topic is not None:
        return [TopicPartition(options.topic, options.partition)]
    return parse_partitions(read_option_file(options.path_to_json_file))


def parse_partitions(text: str) -> "list[TopicPartition]":
    """The partitions that a file names."""
    from ottla.client import TopicPartition

    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise CommandError("Replica election data is empty") from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("partitions"), list):
        raise CommandError('Replica election data is missing "partitions" field')
    found: list[TopicPartition] = []
    duplicates: list[str] = []
    for row in parsed["partitions"]:
        if not isinstance(row, dict) or not isinstance(row.get("topic"), str) or type(row.get("partition")) is not int:
            raise CommandError(f"Replica election data has no topic and partition in {json.dumps(row)}")
        try:
            partition = TopicPartition(row["topic"], int32(str(row["partition"])))
        except ValueError as error:
            raise CommandError(f"The partition of topic {row['topic']}: {error}") from None
        if partition in found and str(partition) not in duplicates:
            duplicates.append(str(partition))
        found.append(partition)
    if duplicates:
        raise CommandError(f"Replica election data contains duplicate partitions: [{', '.join(duplicates)}]")
    return found


async def _elect(
    client: "Client", options: argparse.Namespace, partitions: "list[TopicPartition] | None"
) -> "dict[TopicPartition, KafkaError | None]":
    from ottla.client.admin.leaders import ElectionType

    election = ElectionType[options.election_type.upper()]
    return await client.admin.elect_leaders(partitions, election=election, timeout_ms=_TIMEOUT_MS)


def report(election: str, outcome: "dict[TopicPartition, KafkaError | None]") -> None:
    """Tell who was elected, where that was not needed, and where it failed; a failure of one fails the whole."""
    from ottla.protocol.errors import ErrorCode

    elected = [str(one) for one, error in outcome.items() if error is None]
    failed = {one: error for one, error in outcome.items() if error is not None}
    not_needed = [str(one) for one, error in failed.items() if error.code is ErrorCode.ELECTION_NOT_NEEDED]
    failed = {one: error for one, error in failed.items() if error.code is not ErrorCode.ELECTION_NOT_NEEDED}
    if elected:
        print(f"Successfully completed leader election ({election}) for partitions {', '.join(elected)}")
    if not_needed:
        print(f"Valid replica already elected for partitions {', '.join(not_needed)}")
    for one, error in failed.items():
        print(f"Error completing leader election ({election}) for partition: {one}: {as_java(error)}")
    if failed:
        raise CommandError(f"{len(failed)} replica(s) could not be elected")
