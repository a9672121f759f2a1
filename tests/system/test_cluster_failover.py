"""Three nodes, of which one after the other fails under load: what was acknowledged is there, once, in order."""

import signal
import time
from collections.abc import Callable, Iterator

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.failing_cluster import active_controller, leader_of, wait_until_in_sync
from harness.numbered_load import NumberedLoad
from harness.waiting import eventually
from ottla.client import NewTopic
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster

PARTITIONS = 3
ACKNOWLEDGED_BETWEEN_FAULTS = 500
# Longer than broker.session.timeout.ms: the frozen node is given up by the others.
FROZEN_S = 12.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3) as started:
        yield started


def create(cluster: EmbeddedCluster, topic: str) -> None:
    with Client(cluster.bootstrap_servers) as client:
        created = client.admin.create_topics([NewTopic(topic, PARTITIONS)])[topic]
    assert created.error is None
    assert created.replication_factor == 3


def leader(cluster: EmbeddedCluster, topic: str) -> int:
    return leader_of(cluster, topic)


def follower(cluster: EmbeddedCluster, topic: str) -> int:
    return leader_of(cluster, topic) % 3 + 1


def controller(cluster: EmbeddedCluster, _topic: str) -> int:
    return active_controller(cluster)


def kill(cluster: EmbeddedCluster, node: int) -> None:
    cluster.kill(node=node)
    time.sleep(1)
    cluster.restart(node)


def stop(cluster: EmbeddedCluster, node: int) -> None:
    cluster.kill(signal.SIGTERM, node=node)
    cluster.restart(node)


def freeze(cluster: EmbeddedCluster, node: int) -> None:
    cluster.pause(node)
    time.sleep(FROZEN_S)
    cluster.resume(node)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", [kill, stop, freeze])
@pytest.mark.parametrize("who", [leader, follower, controller])
def test_nothing_acknowledged_is_lost_when_a_node_fails(
    cluster: EmbeddedCluster,
    who: Callable[[EmbeddedCluster, str], int],
    fault: Callable[[EmbeddedCluster, int], None],
) -> None:
    topic = f"{who.__name__}-{fault.__name__}"
    create(cluster, topic)
    load = NumberedLoad(cluster.bootstrap_servers, topic, PARTITIONS)
    try:
        eventually(load.total, lambda total: total >= ACKNOWLEDGED_BETWEEN_FAULTS, timeout_s=60)
        fault(cluster, who(cluster, topic))
        enough = load.total() + ACKNOWLEDGED_BETWEEN_FAULTS
        eventually(load.total, lambda total: total >= enough, timeout_s=60)
    finally:
        load.stop()
    load.check(ConfluentKafka(cluster.bootstrap_servers))
    wait_until_in_sync(cluster)
