"""`kafka-log-dirs`: the log directories of brokers, as JSON."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import as_java, java_class
from ottla.cli.kafka.frame.options import ToolParser, tool_access

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.brokers import LogDirDescription


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = ToolParser("kafka-log-dirs", "This tool helps to query log directory usage on the specified brokers.")
    parser.add_bootstrap()
    parser.add_argument("--describe", action="store_true", help="show log directories")
    parser.add_argument("--broker-list", default="", metavar="ID,ID,...", help="brokers to ask; default all")
    parser.add_argument("--topic-list", default="", metavar="TOPIC,...", help="topics to show; default all")
    options = parser.parse(arguments)
    parser.require(options, "bootstrap-server", "describe")
    try:
        return _describe(options)
    except CommandError as error:
        print(as_java(error) if error.__cause__ else error, file=sys.stderr)
        return ExitCode.FAILED


def _describe(options: argparse.Namespace) -> int:
    topics = [name for name in options.topic_list.split(",") if name]
    wanted = broker_ids(options.broker_list)

    async def ask(client: "Client") -> int:
        cluster = await client.admin.describe_cluster()
        existing = {broker.node_id for broker in cluster.brokers}
        missing = sorted(wanted - existing)
        if missing:
            there = ",".join(map(str, sorted(existing)))
            given = ",".join(map(str, missing))
            text = f"ERROR: The given brokers do not exist from --broker-list: {given}."
            raise CommandError(f"{text} Current existent brokers: {there}")
        print("Querying brokers for log directories information")
        asked = sorted(wanted or existing)
        described = await client.admin.describe_log_dirs(asked)
        print(f"Received log directory information from brokers {','.join(map(str, asked))}")
        print(as_json(described.items(), topics))
        return ExitCode.DONE

    return with_client(tool_access(options), ask)


def broker_ids(text: str) -> set[int]:
    """The brokers of a list."""
    try:
        return {int(part) for part in text.split(",") if part.strip()}
    except ValueError:
        raise CommandError(
            f"--broker-list {text}: write ids of brokers with commas between them, as in 0,1,2."
        ) from None


def as_json(described: "Iterable[tuple[int, tuple[LogDirDescription, ...]]]", topics: Sequence[str]) -> str:
    """The whole answer on one line, with the replicas of these topics or of all."""
    brokers = [
        {"broker": broker_id, "logDirs": [_log_dir(directory, topics) for directory in directories]}
        for broker_id, directories in described
    ]
    return json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"), ensure_ascii=False)


def _log_dir(directory: "LogDirDescription", topics: Sequence[str]) -> dict[str, object]:
    partitions = [
        {
            "partition": str(partition),
            "size": replica.size_bytes,
            "offsetLag": replica.offset_lag,
            "isFuture": replica.is_future,
        }
        for partition, replica in directory.replicas.items()
        if not topics or partition.topic in topics
    ]
    error = None if directory.error is None else java_class(directory.error.code)
    return {"partitions": partitions, "error": error, "logDir": directory.path}
