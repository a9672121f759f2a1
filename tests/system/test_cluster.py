"""Clusters of processes: brokers under controllers of their own, and nodes that are both."""

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from harness.cluster import Cluster, running_cluster
from harness.java import java
from harness.waiting import eventually

pytestmark = pytest.mark.timeout(240)

TOPICS_TOOL = "org.apache.kafka.tools.TopicCommand"
SHAPES = {
    "controllers-and-brokers": {"controllers": 3, "brokers": 3},
    "combined": {"brokers": 3},
    "voters-in-settings": {"controllers": 1, "brokers": 2, "is_static": True},
}


def kafka_topics(cluster: Cluster, *arguments: str) -> str:
    tool = java(TOPICS_TOOL, "--bootstrap-server", cluster.bootstrap, *arguments)
    return subprocess.run(tool, check=True, capture_output=True, text=True).stdout


def produce(cluster: Cluster, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0})
    for value in values:
        producer.produce(topic, value.encode())
    assert producer.flush(60) == 0


def consume(cluster: Cluster, topic: str, count: int) -> set[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": f"readers of {topic}",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    found: set[str] = set()
    try:
        while len(found) < count:
            for message in consumer.consume(count, timeout=60):
                assert message.error() is None, message.error()
                found.add(message.value().decode())
    finally:
        consumer.close()
    return found


@pytest.mark.java
@pytest.mark.parametrize("shape", SHAPES)
def test_brokers_register_and_serve_topics_that_apaches_tool_makes(tmp_path: Path, shape: str) -> None:
    with running_cluster(Cluster(tmp_path, **SHAPES[shape])) as cluster:
        kafka_topics(cluster, "--create", "--topic", "t", "--partitions", "6", "--replication-factor", "1")
        described = kafka_topics(cluster, "--describe", "--topic", "t")
        leaders = {int(line.split("Leader: ")[1].split()[0]) for line in described.splitlines() if "Leader: " in line}
        assert leaders == set(cluster.brokers)
        values = [f"value {number}" for number in range(200)]
        produce(cluster, "t", values)
        assert consume(cluster, "t", len(values)) == set(values)


def test_a_broker_that_was_stopped_or_killed_returns_with_its_records(tmp_path: Path) -> None:
    settings = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=2, settings=settings)) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        producer.produce("t", b"first")
        assert producer.flush(60) == 0
        assert cluster.nodes[101].stop() == 0
        cluster.until_known([102])
        cluster.nodes[101].start()
        cluster.until_known([101, 102])
        cluster.nodes[102].kill()
        cluster.nodes[102].start()
        cluster.until_known([101, 102])
        assert consume(cluster, "t", 1) == {"first"}


# Silence alone would not be noticed before the test has failed.
PATIENT = {"broker.session.timeout.ms": "3600000", "controller.quorum.fetch.timeout.ms": "3600000"}


def active_controller(cluster: Cluster, *, other_than: int | None = None) -> int:
    """The node that last said that it is the active controller."""

    def look() -> dict[int, int]:
        found = {}
        for node_id, node in cluster.nodes.items():
            lines = [line for line in node.output_tail(1_000).splitlines() if "Active controller in epoch" in line]
            if lines and node_id != other_than:
                found[int(lines[-1].split("epoch ")[1].split()[0])] = node_id
        return found

    found = eventually(look, timeout_s=60)
    return found[max(found)]


def test_a_killed_broker_is_fenced_at_once_and_may_return_at_once(tmp_path: Path) -> None:
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=2, settings=PATIENT)) as cluster:
        cluster.nodes[102].kill()
        cluster.until_known([101])
        cluster.nodes[102].start()
        cluster.until_known([101, 102])


def test_a_killed_node_that_was_the_active_controller_too_is_replaced_in_both_roles(tmp_path: Path) -> None:
    with running_cluster(Cluster(tmp_path, brokers=3, settings=PATIENT)) as cluster:
        former = active_controller(cluster)
        cluster.nodes[former].kill()
        cluster.until_known(set(cluster.nodes) - {former})
        assert active_controller(cluster, other_than=former) != former
        cluster.nodes[former].start()
        cluster.until_known(cluster.nodes)


def test_a_broker_that_waits_for_its_controllers_says_so_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, controllers=3, brokers=1, is_static=True)
    broker = cluster.nodes[101]
    try:
        broker.format()
        broker.launch()
        waits = "The broker waits for a leader of the metadata quorum: 2 of its 3 voters have to run"
        eventually(lambda: waits in broker.output_tail(), timeout_s=60)
        assert broker.stop() == 0
    finally:
        cluster.close()
