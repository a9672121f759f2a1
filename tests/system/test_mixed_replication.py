"""Replicas of one partition on brokers of Ottla and of Apache Kafka: each follows the other, byte for byte."""

from collections.abc import Collection
from pathlib import Path

import pytest

from harness.cluster import Cluster, running_cluster
from harness.replicated_topic import QUICK, ReplicatedTopic
from harness.waiting import eventually

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

BROKERS = {101, 102, 103}
APACHE_BROKER = 102


@pytest.mark.parametrize("apache_ids", [(APACHE_BROKER,), (1, APACHE_BROKER)], ids=["ottla-decides", "apache-decides"])
def test_replicas_of_both_kinds_stay_equal_whoever_leads_and_whoever_is_killed(
    tmp_path: Path, apache_ids: Collection[int]
) -> None:
    plan = Cluster(tmp_path, controllers=1, brokers=3, settings=QUICK, apache_ids=apache_ids)
    with running_cluster(plan) as cluster:
        topic = ReplicatedTopic(cluster, partitions=3)
        eventually(topic.leaders, lambda leaders: leaders == BROKERS)
        topic.send(3000)
        topic.until_in_sync(BROKERS)
        for killed in (APACHE_BROKER, 101):
            cluster.nodes[killed].kill()
            topic.send(3000)
            topic.until_in_sync(BROKERS - {killed})
            cluster.nodes[killed].start()
            topic.until_in_sync(BROKERS)
        topic.send(300)
        topic.check()
