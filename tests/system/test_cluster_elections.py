"""Who leads, as Apache's tools see and change it.

A cluster of Apache Kafka tells the same story (OTTLA_TEST_SERVER=kafka).
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.cluster import Cluster, running_cluster
from harness.java import java
from harness.servers import ApacheKafkaServer, server_kind
from harness.waiting import eventually

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]

SETTINGS = {
    # Only elections that somebody asks for.
    "auto.leader.rebalance.enable": "false",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "auto.create.topics.enable": "false",
}
NOBODY = "none"


@dataclass(frozen=True)
class Described:
    leader: str
    isr: frozenset[str]
    elr: frozenset[str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    apache_ids = (1, 101, 102, 103) if server_kind() is ApacheKafkaServer else ()
    root = tmp_path_factory.mktemp("cluster")
    with running_cluster(Cluster(root, controllers=1, settings=SETTINGS, apache_ids=apache_ids)) as running:
        yield running


def tool(cluster: Cluster, name: str, *arguments: str) -> str:
    command = java(f"org.apache.kafka.tools.{name}", *arguments, "--bootstrap-server", bootstrap(cluster))
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bootstrap(cluster: Cluster) -> str:
    """Brokers that run."""
    return ",".join(f"127.0.0.1:{cluster.nodes[i].port}" for i in cluster.brokers if cluster.nodes[i].is_running)


def create(cluster: Cluster, topic: str, *replicas: int, min_isr: int = 1) -> None:
    assignment = ":".join(map(str, replicas))
    config = f"min.insync.replicas={min_isr}"
    tool(cluster, "TopicCommand", "--create", "--topic", topic, "--replica-assignment", assignment, "--config", config)


def describe(cluster: Cluster, topic: str) -> Described:
    (line,) = [x for x in tool(cluster, "TopicCommand", "--describe", "--topic", topic).splitlines() if "Leader:" in x]

    def ids(field: str) -> frozenset[str]:
        found = re.search(rf"\b{field}: ([\d,]*)", line)
        return frozenset(filter(None, found[1].split(","))) if found else frozenset()

    leader = re.search(r"Leader: (\S+)", line)
    assert leader is not None
    return Described(leader[1], ids("Isr"), ids("Elr"))


def until(cluster: Cluster, topic: str, *, leader: int | str, isr: set[int], elr: frozenset[int] = frozenset()) -> None:
    wanted = Described(str(leader), frozenset(map(str, isr)), frozenset(map(str, elr)))
    eventually(lambda: describe(cluster, topic), lambda found: found == wanted, timeout_s=60)


def elect(cluster: Cluster, kind: str, topic: str) -> str:
    return tool(cluster, "LeaderElectionCommand", "--election-type", kind, "--topic", topic, "--partition", "0")


def produce(cluster: Cluster, topic: str, value: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap(cluster), "acks": "all", "log_level": 0})
    producer.produce(topic, value.encode())
    assert producer.flush(60) == 0


def values(cluster: Cluster, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap(cluster), "group.id": "nobody", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[str] = []
    while len(found) < count:
        for message in consumer.consume(count, timeout=60):
            assert message.error() is None, message.error()
            found.append(message.value().decode())
    consumer.close()
    return found


def stop(cluster: Cluster, *brokers: int) -> None:
    for broker in brokers:
        assert cluster.nodes[broker].stop() in (0, 143)


def start(cluster: Cluster, *brokers: int) -> None:
    for broker in brokers:
        cluster.nodes[broker].start()
    cluster.until_known(cluster.brokers)


def test_the_preferred_leader_leads_again_when_it_is_asked_to(cluster: Cluster) -> None:
    create(cluster, "preferred", 101, 102)
    stop(cluster, 101)
    until(cluster, "preferred", leader=102, isr={102})
    start(cluster, 101)
    until(cluster, "preferred", leader=102, isr={101, 102})
    assert "Successfully completed leader election (PREFERRED)" in elect(cluster, "preferred", "preferred")
    until(cluster, "preferred", leader=101, isr={101, 102})
    assert "Valid replica already elected" in elect(cluster, "preferred", "preferred")


def test_an_eligible_replica_leads_with_every_committed_record(cluster: Cluster) -> None:
    create(cluster, "eligible", 101, 102, 103, min_isr=2)
    stop(cluster, 102)
    until(cluster, "eligible", leader=101, isr={101, 103})
    produce(cluster, "eligible", "committed")
    stop(cluster, 103)
    until(cluster, "eligible", leader=101, isr={101}, elr=frozenset({103}))
    stop(cluster, 101)
    cluster.nodes[103].start()
    until(cluster, "eligible", leader=103, isr={103}, elr=frozenset({101}))
    start(cluster, 101, 102)
    until(cluster, "eligible", leader=103, isr={101, 102, 103})
    assert values(cluster, "eligible", 1) == ["committed"]


def test_a_replica_that_lacks_records_leads_only_when_it_is_asked_to(cluster: Cluster) -> None:
    create(cluster, "unclean", 101, 102)
    produce(cluster, "unclean", "kept")
    stop(cluster, 102)
    until(cluster, "unclean", leader=101, isr={101})
    produce(cluster, "unclean", "lost")
    stop(cluster, 101)
    cluster.nodes[102].start()
    until(cluster, "unclean", leader=NOBODY, isr=set(), elr=frozenset({101}))
    assert "Successfully completed leader election (UNCLEAN)" in elect(cluster, "unclean", "unclean")
    until(cluster, "unclean", leader=102, isr={102})
    assert values(cluster, "unclean", 1) == ["kept"]
    start(cluster, 101)
    until(cluster, "unclean", leader=102, isr={101, 102})


def test_a_broker_that_is_unregistered_is_gone_until_it_starts_again(cluster: Cluster) -> None:
    stop(cluster, 103)
    cluster.until_known({101, 102})
    assert "Broker 103 is no longer registered" in tool(cluster, "ClusterTool", "unregister", "--id", "103")
    start(cluster, 103)
