"""Coordinators that move while they are needed: their broker is killed, stopped, or frozen, and another one goes on.

What clients were told stays true: committed offsets, members and transactions are in a log with three replicas.
"""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from harness.cluster import Cluster, NodeProcess, running_cluster
from harness.waiting import eventually
from system.test_cluster_coordinators import (
    GROUP,
    REPLICATED,
    TRANSACTION,
    consumer_of,
    create,
    found,
    read,
)

pytestmark = pytest.mark.timeout(300)

MOVING = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
}
# A frozen broker keeps its connections: a client gives up on them after this time.
IMPATIENT = {"socket.timeout.ms": 5000, "log_level": 0}
FAILOVER = REPLICATED | {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    # The controller is never down: these tests are about coordinators.
    with running_cluster(Cluster(tmp_path, controllers=1, brokers=3, settings=FAILOVER)) as started:
        for key_type in (GROUP, TRANSACTION):
            eventually(lambda key_type=key_type: found(started, key_type, ["first"]), lambda answers: answers != {})
        yield started


def kill(node: NodeProcess) -> None:
    node.kill()


def stop(node: NodeProcess) -> None:
    assert node.stop() == 0


def freeze(node: NodeProcess) -> None:
    os.kill(node.pid, signal.SIGSTOP)


def restart(cluster: Cluster, broker_id: int, fail: Callable[[NodeProcess], None]) -> None:
    if fail is freeze:
        os.kill(cluster.nodes[broker_id].pid, signal.SIGCONT)
    else:
        cluster.nodes[broker_id].start()
    cluster.until_known(cluster.brokers.keys())


FAILURES = pytest.mark.parametrize("fail", [kill, stop, freeze])


def coordinator(cluster: Cluster, key_type: int, key: str) -> int:
    # A broker that was frozen learns a moment after the others what happened meanwhile.
    answer = eventually(lambda: found(cluster, key_type, [key]))
    return answer[key]


@FAILURES
def test_a_group_goes_on_with_another_coordinator(cluster: Cluster, fail: Callable[[NodeProcess], None]) -> None:
    topic, group = create(cluster, 3), "readers"
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **IMPATIENT})
    consumer = consumer_of(cluster, group, **IMPATIENT)
    consumer.subscribe([topic])
    total = 0
    for _ in range(2):
        written = [f"value {total + number}" for number in range(30)]
        for number, value in enumerate(written):
            producer.produce(topic, value, partition=number % 3)
        assert producer.flush(120) == 0
        assert sorted(read(consumer, 30)) == sorted(written)
        total += 30
        commit(consumer)
        failed = coordinator(cluster, GROUP, group)
        fail(cluster.nodes[failed])
        # The members stay in the group, and what they commit now is kept by the next coordinator.
        more = [f"more {total + number}" for number in range(30)]
        for number, value in enumerate(more):
            producer.produce(topic, value, partition=number % 3)
        assert producer.flush(120) == 0
        assert sorted(read(consumer, 30)) == sorted(more)
        total += 30
        commit(consumer)
        restart(cluster, failed, fail)
    consumer.close()
    again = consumer_of(cluster, group)
    committed = again.committed([TopicPartition(topic, index) for index in range(3)], timeout=60)
    assert [partition.offset for partition in committed] == [total // 3] * 3
    again.close()


def commit(consumer: Consumer) -> None:
    eventually(lambda: try_to_commit(consumer), timeout_s=120)


def try_to_commit(consumer: Consumer) -> bool:
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        # The coordinator is on its way from one broker to the other.
        assert error.args[0].retriable() or error.args[0].code() in MOVING, error
        return False
    return True


@FAILURES
def test_a_transaction_goes_on_with_another_coordinator(cluster: Cluster, fail: Callable[[NodeProcess], None]) -> None:
    topic = create(cluster, 6)
    transactional_id = "writer"
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id, **IMPATIENT})
    producer.init_transactions(60)
    expected: list[str] = []
    for number in range(4):
        producer.begin_transaction()
        outcome = "lost" if number == 1 else "kept"
        for partition in range(6):
            producer.produce(topic, f"{number} {outcome}", partition=partition)
        assert producer.flush(120) == 0
        failed = coordinator(cluster, TRANSACTION, transactional_id)
        fail(cluster.nodes[failed])
        if outcome == "kept":
            producer.commit_transaction(120)
            expected += [f"{number} {outcome}"] * 6
        else:
            producer.abort_transaction(120)
        restart(cluster, failed, fail)
    reader = consumer_of(cluster, "readers")
    reader.subscribe([topic])
    assert sorted(read(reader, len(expected))) == expected
    reader.close()
