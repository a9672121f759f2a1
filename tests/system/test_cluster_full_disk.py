"""A broker without space hands its partitions over, and takes its place again when it has some."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.disk_faults import FULL, FailingDisks
from harness.failing_cluster import active_controller, data_of, wait_until_equal
from harness.replicas import partitions_of, wait_until_in_sync, wait_until_known
from ottla.client import NewTopic
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster

pytestmark = pytest.mark.timeout(300)

TOPIC, PARTITIONS = "t", 3


def produce(producer: Producer, count: int) -> None:
    """Returns when all replicas that are in sync have the records."""
    errors: list[object] = []
    for number in range(count):
        producer.produce(
            TOPIC,
            b"%d" % number,
            partition=number % PARTITIONS,
            on_delivery=lambda error, _: None if error is None else errors.append(error),
        )
    assert producer.flush(60) == 0
    assert errors == []


def leaders(bootstrap: str) -> set[int]:
    with Client(bootstrap) as client:
        return {partition.leader_id for partition in partitions_of(client, TOPIC)}


def test_others_lead_what_a_broker_without_space_led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disks = FailingDisks(tmp_path)
    for name, value in disks.environment.items():
        monkeypatch.setenv(name, value)
    with EmbeddedCluster(brokers=3) as cluster:
        bootstrap = cluster.bootstrap_servers
        with Client(bootstrap) as client:
            client.admin.create_topics([NewTopic(TOPIC, PARTITIONS)])
        wait_until_known(bootstrap, [TOPIC])
        assert leaders(bootstrap) == {1, 2, 3}
        producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
        produce(producer, 30)
        # Nothing can be decided before another one is elected.
        full = active_controller(cluster)
        with disks.fault(FULL, data_of(cluster, full)):
            produce(producer, 3000)
            assert leaders(bootstrap) == {1, 2, 3} - {full}
        wait_until_in_sync(bootstrap)
        wait_until_equal(cluster, [TOPIC])
