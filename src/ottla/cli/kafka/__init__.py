"""Apache's command line tools under their own names: the same flags, and output that scripts written for them can read.

They act at once, as Apache's do: what asks first is the command of Ottla's own. Old names of flags are accepted beside
the new ones.
"""

import importlib
from collections.abc import Sequence
from typing import Final

# The tool, and the module with its `main(arguments)`.
TOOLS: Final = {
    "kafka-broker-api-versions": "ottla.cli.kafka.broker_api_versions",
    "kafka-configs": "ottla.cli.kafka.configs",
    "kafka-console-consumer": "ottla.cli.kafka.console_consumer",
    "kafka-console-producer": "ottla.cli.kafka.console_producer",
    "kafka-consumer-groups": "ottla.cli.kafka.consumer_groups",
    "kafka-consumer-perf-test": "ottla.cli.kafka.consumer_perf_test",
    "kafka-delete-records": "ottla.cli.kafka.delete_records",
    "kafka-dump-log": "ottla.cli.kafka.dump_log",
    "kafka-e2e-latency": "ottla.cli.kafka.e2e_latency",
    "kafka-features": "ottla.cli.kafka.features",
    "kafka-get-offsets": "ottla.cli.kafka.get_offsets",
    "kafka-log-dirs": "ottla.cli.kafka.log_dirs",
    "kafka-metadata-quorum": "ottla.cli.kafka.metadata_quorum",
    "kafka-producer-perf-test": "ottla.cli.kafka.producer_perf_test",
    "kafka-run-class": "ottla.cli.kafka.run_class",
    "kafka-server-start": "ottla.cli.kafka.server_start",
    "kafka-server-stop": "ottla.cli.kafka.server_stop",
    "kafka-storage": "ottla.cli.kafka.storage",
    "kafka-topics": "ottla.cli.kafka.topics",
    "kafka-verifiable-consumer": "ottla.cli.kafka.verifiable_consumer",
    "kafka-verifiable-producer": "ottla.cli.kafka.verifiable_producer",
}


def run_tool(name: str, arguments: Sequence[str]) -> int:
    """Run one of Apache's tools; the value is the exit code."""
    exit_code: int = importlib.import_module(TOOLS[name]).main(arguments)
    return exit_code
