"""Apache's command line tools under their own names: the same flags, and output that scripts written for them can read.

They act at once, as Apache's do: what asks first is the command of Ottla's own. Old names of flags are accepted beside
the new ones.
"""

import importlib
from collections.abc import Sequence
from typing import Final

# The tool, and the module with its `main(arguments)`.
TOOLS: Final = {
    "kafka-broker-api-versions": "ottla.cli.kafka.quorum.broker_api_versions",
    "kafka-configs": "ottla.cli.kafka.configs.tool",
    "kafka-console-consumer": "ottla.cli.kafka.console.consumer",
    "kafka-console-producer": "ottla.cli.kafka.console.producer",
    "kafka-consumer-groups": "ottla.cli.kafka.groups.consumer_groups",
    "kafka-consumer-perf-test": "ottla.cli.kafka.perf.consumer",
    "kafka-delete-records": "ottla.cli.kafka.offsets.delete_records",
    "kafka-dump-log": "ottla.cli.kafka.logs.dump_log",
    "kafka-e2e-latency": "ottla.cli.kafka.perf.e2e_latency",
    "kafka-features": "ottla.cli.kafka.quorum.features",
    "kafka-get-offsets": "ottla.cli.kafka.offsets.get_offsets",
    "kafka-leader-election": "ottla.cli.kafka.leaders.leader_election",
    "kafka-log-dirs": "ottla.cli.kafka.logs.log_dirs",
    "kafka-metadata-quorum": "ottla.cli.kafka.quorum.metadata_quorum",
    "kafka-producer-perf-test": "ottla.cli.kafka.perf.producer",
    "kafka-run-class": "ottla.cli.kafka.run_class",
    "kafka-server-start": "ottla.cli.kafka.server.start",
    "kafka-server-stop": "ottla.cli.kafka.server.stop",
    "kafka-storage": "ottla.cli.kafka.server.storage",
    "kafka-topics": "ottla.cli.kafka.topics.tool",
    "kafka-transactions": "ottla.cli.kafka.transactions.tool",
    "kafka-verifiable-consumer": "ottla.cli.kafka.verifiable.consumer",
    "kafka-verifiable-producer": "ottla.cli.kafka.verifiable.producer",
}


def run_tool(name: str, arguments: Sequence[str]) -> int:
    """Run one of Apache's tools; the value is the exit code."""
    exit_code: int = importlib.import_module(TOOLS[name]).main(arguments)
    return exit_code
