"""Writes docs/reference/metrics.md from the catalogue; `--check` only tells whether it is fresh."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ottla.broker.metrics.catalogue import SECTIONS
from ottla.broker.metrics.group_samples import OFFSETS_MAX
from ottla.broker.metrics.partition_samples import PARTITIONS_MAX
from ottla.metrics.definition import Metric
from ottla.registry.metrics import catalogue as registry
from reference_page import write_or_check

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "metrics.md"

INTRODUCTION = f"""\
# Metrics

What `ottla server --metrics HOST:PORT` tells at `/metrics`, in Prometheus's text format.
[Watch a node](../how-to/watch-a-node.md) shows how to use it.

Names come from where dashboards know them. `kafka_server_...`, `kafka_network_...`, `kafka_log_...`,
`kafka_controller_...` and `kafka_coordinator_...` are what Prometheus's JMX exporter makes of Apache Kafka's own
metrics with its example rules for Kafka; `kafka_brokers`, `kafka_topic_...` and `kafka_consumergroup_...` are those of
kafka_exporter. What neither has is called `ottla_...`.

- Counters begin with the node. Those of topics exist for each topic, and without a label for all of them, deleted ones
  included.
- Requests appear once there was one. A fetch counts as `Fetch`, and as `FetchConsumer` or `FetchFollower`, as in Kafka.
- Quantiles are about the last minute or two and at most a quarter too large; `_sum` and `_count` begin with the node.
- Partitions have eleven series each. Beyond {PARTITIONS_MAX:,} partitions, or {OFFSETS_MAX:,} committed offsets, the
  rest is only summed up, and `ottla_metrics_left_out` says how many are missing.
- Not there, because a node has nothing to fill them with: request and response queue times (there are no queues between
  its parts), quotas, and the lag of groups in seconds.
"""


REGISTRY_INTRODUCTION = f"""\
## Metrics of a registry

What `ottla registry --metrics HOST:PORT` tells in the same way. [Run a registry](../how-to/run-a-registry.md) shows how
to use it. `kafka_schema_registry_...` is what the JMX exporter makes of the metrics of Confluent's registry with the
rules that Confluent publishes; what that one does not have is called `ottla_registry_...`.

- Confluent's rates and latencies are about the last minute or two. For other spans there are
  `{registry.REQUESTS.name}` and `{registry.REQUEST_DURATION.name}`.
- The label `endpoint` has Confluent's name for what it measures, and for the rest the name of our handler. Requests
  that lead nowhere, or fail to say who asks, count as `none`.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield INTRODUCTION.rstrip()
    for title, metrics in SECTIONS.items():
        yield from _section(f"## {title}", metrics)
    yield f"\n{REGISTRY_INTRODUCTION.rstrip()}"
    for title, metrics in registry.SECTIONS.items():
        yield from _section(f"### {title}", metrics)


def _section(heading: str, metrics: Iterable[Metric]) -> Iterator[str]:
    yield f"\n{heading}\n"
    yield "| name | type | labels | meaning |"
    yield "| --- | --- | --- | --- |"
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.text} |"


if __name__ == "__main__":
    sys.exit(write_or_check(REFERENCE, reference()))
