"""`kafka-run-class`: a tool by the name of its Java class, for scripts and texts that call it so."""

import sys
from collections.abc import Sequence
from typing import Final

from ottla.cli.exits import ExitCode

_USAGE: Final = "USAGE: kafka-run-class [-daemon] [-name servicename] [-loggc] classname [opts]"

# The last part of a class's name, which old and new packages share, and the tool that does its work.
_TOOLS: Final = {
    "BrokerApiVersionsCommand": "kafka-broker-api-versions",
    "ConfigCommand": "kafka-configs",
    "ConsoleConsumer": "kafka-console-consumer",
    "ConsoleProducer": "kafka-console-producer",
    "ConsumerGroupCommand": "kafka-consumer-groups",
    "ConsumerPerformance": "kafka-consumer-perf-test",
    "DeleteRecordsCommand": "kafka-delete-records",
    "DumpLogSegments": "kafka-dump-log",
    "EndToEndLatency": "kafka-e2e-latency",
    "FeatureCommand": "kafka-features",
    "GetOffsetShell": "kafka-get-offsets",
    "Kafka": "kafka-server-start",
    "LogDirsCommand": "kafka-log-dirs",
    "MetadataQuorumCommand": "kafka-metadata-quorum",
    "ProducerPerformance": "kafka-producer-perf-test",
    "StorageTool": "kafka-storage",
    "TopicCommand": "kafka-topics",
    "TransactionsCommand": "kafka-transactions",
    "VerifiableConsumer": "kafka-verifiable-consumer",
    "VerifiableProducer": "kafka-verifiable-producer",
}
_PACKAGES: Final = ("kafka.", "org.apache.kafka.")


def main(arguments: Sequence[str]) -> int:
    """Run the class's tool; the value is the exit code."""
    from ottla.cli.kafka import run_tool

    words = list(arguments)
    daemon = False
    while words and words[0].startswith("-"):
        switch = words.pop(0)
        daemon = daemon or switch == "-daemon"
        # The name of the service names Java's log files, of which there are none.
        if switch == "-name" and words:
            words.pop(0)
    if not words:
        print(_USAGE, file=sys.stderr)
        return ExitCode.FAILED
    class_name, *rest = words
    tool = tool_of(class_name)
    if tool is None:
        print(f"Error: Could not find or load main class {class_name}", file=sys.stderr)
        print(f"  These classes have a tool here: {', '.join(sorted(_TOOLS))}.", file=sys.stderr)
        return ExitCode.FAILED
    if daemon and tool != "kafka-server-start":
        print(f"Error: -daemon works with the server, and {class_name} is not the server", file=sys.stderr)
        return ExitCode.FAILED
    return run_tool(tool, ["-daemon", *rest] if daemon else rest)


def tool_of(class_name: str) -> str | None:
    """Find the tool for a class of Kafka's, whatever package it was in; None if there is none."""
    package, dot, simple = class_name.rpartition(".")
    return _TOOLS.get(simple) if f"{package}{dot}".startswith(_PACKAGES) else None
