"""Three brokers, three replicas: what was acknowledged outlives any one of them, and all logs become the same."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cluster import Cluster, running_cluster
from harness.replicated_topic import QUICK, ReplicatedTopic

pytestmark = pytest.mark.timeout(300)

BROKERS = {101, 102, 103}


@pytest.fixture
def topic(tmp_path: Path) -> Iterator[ReplicatedTopic]:
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=3, settings=QUICK)) as cluster:
        yield ReplicatedTopic(cluster)


def test_nothing_is_lost_when_the_leader_is_killed_and_it_returns_in_sync(topic: ReplicatedTopic) -> None:
    topic.send(2000)
    for _ in range(2):
        killed = topic.leader()
        topic.cluster.nodes[killed].kill()
        topic.leader(other_than=killed)
        topic.send(2000)
        topic.until_in_sync(BROKERS - {killed})
        topic.cluster.nodes[killed].start()
        topic.until_in_sync(BROKERS)
    topic.send(100)
    topic.check()


def test_a_follower_that_does_not_keep_up_leaves_the_in_sync_set_and_comes_back(topic: ReplicatedTopic) -> None:
    topic.send(100)
    topic.until_in_sync(BROKERS)
    slow = max(BROKERS - {topic.leader()})
    os.kill(topic.cluster.nodes[slow].pid, signal.SIGSTOP)
    # Acknowledged once the frozen one is out.
    topic.send(2000)
    os.kill(topic.cluster.nodes[slow].pid, signal.SIGCONT)
    topic.until_in_sync(BROKERS)
    topic.check()


def test_a_broker_whose_disk_was_replaced_rebuilds_itself(topic: ReplicatedTopic) -> None:
    topic.send(1000)
    replaced = max(BROKERS - {topic.leader()})
    node = topic.cluster.nodes[replaced]
    node.kill()
    topic.until_in_sync(BROKERS - {replaced})
    data = node.properties.parent / "data"
    data.rename(data.with_name("the old disk"))
    node.format()
    node.start()
    topic.until_in_sync(BROKERS)
    topic.send(100)
    topic.check()
