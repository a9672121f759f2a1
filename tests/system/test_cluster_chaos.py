"""Three nodes, of which one after the other fails under load: nothing that was acknowledged is lost, doubled or torn.

An idempotent producer numbers what it writes, and two tellers, of Java's client and of librdkafka, move money between
accounts in transactions while a ledger reads committed records. None of them learns of a failure except by its own
retries. `make chaos-cluster FAULTS=500` goes on for longer.
"""

import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from harness.bank import PARTITIONS as BANK_PARTITIONS
from harness.bank import TOPICS as BANK_TOPICS
from harness.bank import bank, confluent_teller, java_teller
from harness.clients.confluent import ConfluentKafka
from harness.failing_cluster import active_controller, leader_of, wait_until_in_sync
from harness.numbered_load import NumberedLoad
from harness.waiting import eventually
from ottla.client import NewTopic
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster

FAULTS = int(os.environ.get("OTTLA_FAULTS", "20"))
SEED = int(os.environ.get("OTTLA_SEED", "1"))
TOPIC = "survivors"
PARTITIONS = 3
ACKNOWLEDGED_BETWEEN_FAULTS = 300
TRANSFERS_BETWEEN_FAULTS = 3
# Longer than broker.session.timeout.ms, so that the others give the frozen node up; and a moment that nobody notices.
FROZEN_S = (12.0, 3.0)
# A node that was frozen has learned by then who leads.
SETTLING_S = 20.0

Victim = Callable[[EmbeddedCluster], int]
Fault = Callable[[EmbeddedCluster, int, random.Random], None]


def leader(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster, TOPIC)


def follower(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster, TOPIC) % 3 + 1


def coordinator(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster, "__transaction_state")


def kill(cluster: EmbeddedCluster, node: int, chance: random.Random) -> None:
    cluster.kill(node=node)
    time.sleep(chance.random() * 2)
    cluster.restart(node)


def stop(cluster: EmbeddedCluster, node: int, chance: random.Random) -> None:
    del chance
    cluster.kill(signal.SIGTERM, node=node)
    cluster.restart(node)


def freeze(cluster: EmbeddedCluster, node: int, chance: random.Random) -> None:
    cluster.pause(node)
    time.sleep(chance.choice(FROZEN_S))
    cluster.resume(node)


VICTIMS: tuple[Victim, ...] = (leader, follower, active_controller, coordinator)
KINDS: tuple[Fault, ...] = (kill, stop, freeze)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3) as started:
        with Client(started.bootstrap_servers) as client:
            topics = {TOPIC: PARTITIONS} | dict.fromkeys(BANK_TOPICS, BANK_PARTITIONS)
            created = client.admin.create_topics([NewTopic(name, count) for name, count in topics.items()])
        assert [one.error for one in created.values()] == [None] * len(topics)
        assert {one.replication_factor for one in created.values()} == {3}
        yield started


@pytest.mark.java
@pytest.mark.timeout(120 + 60 * FAULTS)
def test_nothing_acknowledged_is_lost_doubled_or_torn_when_nodes_fail(cluster: EmbeddedCluster) -> None:
    chance = random.Random(SEED)
    # Everything happens to everybody before anything happens again.
    faults = itertools.cycle(chance.sample(pairs := list(itertools.product(VICTIMS, KINDS)), len(pairs)))
    bootstrap = cluster.bootstrap_servers
    tellers = java_teller(bootstrap, "java", 4), confluent_teller(bootstrap, "confluent", 3)
    load = NumberedLoad(bootstrap, TOPIC, PARTITIONS)
    try:
        with bank(bootstrap, *tellers, settling_s=SETTLING_S) as opened:
            opened.work(TRANSFERS_BETWEEN_FAULTS)
            for number, (victim, fault) in enumerate(itertools.islice(faults, FAULTS), 1):
                node = victim(cluster)
                enough = load.total() + ACKNOWLEDGED_BETWEEN_FAULTS
                fault(cluster, node, chance)
                eventually(load.total, lambda total, enough=enough: total >= enough, timeout_s=90)
                opened.work(TRANSFERS_BETWEEN_FAULTS)
                # `make chaos-cluster` shows it: hundreds of faults take a while.
                what = f"{fault.__name__} of the {victim.__name__}, node {node}"
                print(
                    f"fault {number} of {FAULTS}: {what}; {load.total()} acknowledged, {opened.committed()} transfers"
                )
            opened.close_for_the_day()
    finally:
        load.stop()
    load.check(ConfluentKafka(bootstrap))
    wait_until_in_sync(cluster)
