"""Ottla and Apache Kafka in one cluster: brokers of both under controllers of either.

Everything that passes between them is Kafka's public protocol and record formats. Where the two differ, Apache Kafka is
right.
"""

from collections.abc import Collection
from pathlib import Path

import pytest

from harness.cluster import Cluster, running_cluster
from system.test_cluster import consume, kafka_topics, produce

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]

OTTLA_BROKER, APACHE_BROKER = 101, 102


@pytest.mark.parametrize("apache_ids", [(APACHE_BROKER,), (1, APACHE_BROKER)], ids=["ottla-decides", "apache-decides"])
def test_brokers_of_both_kinds_serve_one_cluster(tmp_path: Path, apache_ids: Collection[int]) -> None:
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=2, apache_ids=apache_ids)) as cluster:
        kafka_topics(cluster, "--create", "--topic", "t", "--partitions", "4", "--replication-factor", "1")
        described = kafka_topics(cluster, "--describe", "--topic", "t")
        leaders = {int(line.split("Leader: ")[1].split()[0]) for line in described.splitlines() if "Leader: " in line}
        assert leaders == {OTTLA_BROKER, APACHE_BROKER}
        values = [f"value {number}" for number in range(200)]
        produce(cluster, "t", values)
        assert consume(cluster, "t", len(values)) == set(values)
