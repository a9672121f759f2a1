"""Writes docs/reference/metrics.md from the catalogue; `--check` only tells whether it is fresh."""

import sys
from collections.abc import Iterator
from pathlib import Path

from ottla.broker.metrics.catalogue import SECTIONS
from ottla.broker.metrics.group_samples import OFFSETS_MAX
from ottla.broker.metrics.partition_samples import PARTITIONS_MAX
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


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield INTRODUCTION.rstrip()
    for title, metrics in SECTIONS.items():
        yield f"\n## {title}\n"
        yield "| name | type | labels | meaning |"
        yield "| --- | --- | --- | --- |"
        for metric in metrics:
            labels = ", ".join(f"`{label}`" for label in metric.labels)
            yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.text} |"


if __name__ == "__main__":
    sys.exit(write_or_check(REFERENCE, reference()))
