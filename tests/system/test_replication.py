"""Three brokers, three replicas: what was acknowledged outlives any one of them, and all logs become the same."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from harness.cluster import Cluster, running_cluster
from harness.waiting import eventually
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.client.errors import ClientError
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponse, MetadataResponsePartition

pytestmark = pytest.mark.timeout(300)

TOPIC = "orders"
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "2000",
    "min.insync.replicas": "2",
}
BROKERS = {101, 102, 103}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=3, settings=SETTINGS)) as started:
        topic = NewTopic(TOPIC, num_partitions=1, replication_factor=3)
        admin = AdminClient({"bootstrap.servers": started.bootstrap, "log_level": 0})
        admin.create_topics([topic])[TOPIC].result(60)
        yield started


def partition(cluster: Cluster) -> MetadataResponsePartition | None:
    """What the first broker that answers says about the partition."""

    async def ask() -> MetadataResponsePartition | None:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        for broker in cluster.brokers.values():
            try:
                connection = await open_connection(Address("127.0.0.1", broker.port), client_id="test")
                response = await connection.request(request, MetadataResponse)
                await connection.close()
            except ClientError:
                continue
            if response.topics[0].partitions:
                return response.topics[0].partitions[0]
        return None

    return asyncio.run(ask())


def leader_of(cluster: Cluster, *, other_than: int = -1) -> int:
    found = eventually(
        lambda: partition(cluster), lambda row: row is not None and row.leader_id not in (-1, other_than)
    )
    assert found is not None
    return found.leader_id


def until_in_sync(cluster: Cluster, *replicas: int) -> None:
    eventually(
        lambda: partition(cluster), lambda row: row is not None and set(row.isr_nodes) == set(replicas), timeout_s=15
    )


class Records:
    """Numbered records, sent with acks=all by a producer that repeats what was not acknowledged."""

    def __init__(self, cluster: Cluster) -> None:
        self.acknowledged: list[int] = []
        self._next = 0
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "acks": "all", "enable.idempotence": True, "log_level": 0}
        )

    def send(self, count: int) -> None:
        for _ in range(count):
            number, self._next = self._next, self._next + 1
            self._producer.produce(
                TOPIC, b"%08d" % number, on_delivery=lambda error, _, n=number: self._delivered(error, n)
            )
            self._producer.poll(0)
        assert self._producer.flush(60) == 0

    def _delivered(self, error: object, number: int) -> None:
        assert error is None, error
        self.acknowledged.append(number)


def log_of(cluster: Cluster, broker: int) -> bytes:
    directory = cluster.nodes[broker].properties.parent / "data" / f"{TOPIC}-0"
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


def until_logs_are_equal(cluster: Cluster) -> bytes:
    logs = eventually(lambda: {log_of(cluster, broker) for broker in BROKERS}, lambda found: len(found) == 1)
    return logs.pop()


def check(records: Records, log: bytes) -> None:
    assert records.acknowledged == list(range(len(records.acknowledged)))
    places = [log.find(b"%08d" % number) for number in records.acknowledged]
    assert -1 not in places, "an acknowledged record is lost"
    assert places == sorted(places)
    assert all(log.count(b"%08d" % number) == 1 for number in records.acknowledged)


def test_nothing_is_lost_when_the_leader_is_killed_and_it_returns_in_sync(cluster: Cluster) -> None:
    records = Records(cluster)
    records.send(2000)
    for _ in range(2):
        killed = leader_of(cluster)
        cluster.nodes[killed].kill()
        assert leader_of(cluster, other_than=killed) != killed
        records.send(2000)
        until_in_sync(cluster, *(BROKERS - {killed}))
        cluster.nodes[killed].start()
        until_in_sync(cluster, *BROKERS)
    records.send(100)
    check(records, until_logs_are_equal(cluster))


def test_a_follower_that_does_not_keep_up_leaves_the_in_sync_set_and_comes_back(cluster: Cluster) -> None:
    records = Records(cluster)
    records.send(100)
    until_in_sync(cluster, *BROKERS)
    slow = max(BROKERS - {leader_of(cluster)})
    os.kill(cluster.nodes[slow].pid, signal.SIGSTOP)
    # Acknowledged once the frozen one is out.
    records.send(2000)
    os.kill(cluster.nodes[slow].pid, signal.SIGCONT)
    until_in_sync(cluster, *BROKERS)
    check(records, until_logs_are_equal(cluster))


def test_a_broker_whose_disk_was_replaced_rebuilds_itself(cluster: Cluster) -> None:
    records = Records(cluster)
    records.send(1000)
    replaced = max(BROKERS - {leader_of(cluster)})
    node = cluster.nodes[replaced]
    node.kill()
    until_in_sync(cluster, *(BROKERS - {replaced}))
    data = node.properties.parent / "data"
    data.rename(data.with_name("the old disk"))
    node.format()
    node.start()
    until_in_sync(cluster, *BROKERS)
    records.send(100)
    check(records, until_logs_are_equal(cluster))
