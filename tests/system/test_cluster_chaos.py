"""Three nodes, of which one after the other fails under load: nothing that was acknowledged is lost, doubled or torn.

An idempotent producer numbers what it writes; a group of two members, of Java's client and of librdkafka, reads it and
commits; and two tellers, of the same two, move money between accounts in transactions while a ledger reads committed
records. None of them learns of a failure except by its own retries. Processes die, stop and freeze, networks part, and
disks are slow or full. `make chaos-cluster FAULTS=500` goes on for longer.
"""

import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.bank import PARTITIONS as BANK_PARTITIONS
from harness.bank import TOPICS as BANK_TOPICS
from harness.bank import bank, confluent_teller, java_teller
from harness.clients.confluent import ConfluentKafka
from harness.disk_faults import FULL, SLOW, FailingDisks
from harness.failing_cluster import active_controller, data_of, wait_until_equal
from harness.group_load import GroupLoad, anomalies, event
from harness.numbered_load import NumberedLoad
from harness.replicas import leader_of, wait_until_in_sync, wait_until_known
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
COMMITS_BETWEEN_FAULTS = 3
CONFIG = {"broker.session.timeout.ms": 5000, "broker.heartbeat.interval.ms": 500}
# Longer than the session, so that the others give a silent node up; and a moment that nobody notices.
LONG_S, SHORT_S = 7.0, 1.5
DISK_FAULT_S = 4.0
# A node that was frozen or cut off has learned by then who leads.
SETTLING_S = 20.0
# Silent in both directions, in one, towards clients too; and with resets.
CUTS: tuple[dict[str, bool], ...] = ({}, {"one_way": True}, {"clients": True}, {"reset": True})


@dataclass(frozen=True, slots=True)
class Scene:
    """What faults happen to, and what chooses between them."""

    cluster: EmbeddedCluster
    disks: FailingDisks
    chance: random.Random
    # Nodes that were left without space.
    filled: set[int] = field(default_factory=set)


Victim = Callable[[EmbeddedCluster], int]
Fault = Callable[[Scene, int], str]


def leader(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster.bootstrap_servers, TOPIC)


def follower(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster.bootstrap_servers, TOPIC) % 3 + 1


def transaction_coordinator(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster.bootstrap_servers, "__transaction_state")


def group_coordinator(cluster: EmbeddedCluster) -> int:
    return leader_of(cluster.bootstrap_servers, "__consumer_offsets")


def kill(scene: Scene, node: int) -> str:
    scene.cluster.kill(node=node)
    time.sleep(scene.chance.random() * 2)
    scene.cluster.restart(node)
    return "killed"


def stop(scene: Scene, node: int) -> str:
    scene.cluster.kill(signal.SIGTERM, node=node)
    scene.cluster.restart(node)
    return "stopped"


def freeze(scene: Scene, node: int) -> str:
    frozen_s = scene.chance.choice((LONG_S, SHORT_S))
    scene.cluster.pause(node)
    time.sleep(frozen_s)
    scene.cluster.resume(node)
    return f"frozen for {frozen_s:g} s"


def cut_off(scene: Scene, node: int) -> str:
    how = scene.chance.choice(CUTS)
    scene.cluster.partition(node, **how)
    time.sleep(LONG_S)
    scene.cluster.heal()
    return f"cut off ({', '.join(how) or 'silent'})"


def slow_disk(scene: Scene, node: int) -> str:
    with scene.disks.fault(SLOW, data_of(scene.cluster, node)):
        time.sleep(DISK_FAULT_S)
    return "slowed down by its disk"


def full_disk(scene: Scene, node: int) -> str:
    with scene.disks.fault(FULL, data_of(scene.cluster, node)):
        time.sleep(DISK_FAULT_S)
    scene.filled.add(node)
    return "left without space"


VICTIMS: tuple[Victim, ...] = (leader, follower, active_controller, transaction_coordinator, group_coordinator)
KINDS: tuple[Fault, ...] = (kill, stop, freeze, cut_off, slow_disk, full_disk)


def faults(chance: random.Random) -> Iterator[tuple[Victim, Fault]]:
    """Every kind of fault in each round, and everything to everybody before anything happens again."""
    while True:
        kinds, victims = chance.sample(KINDS, len(KINDS)), chance.sample(VICTIMS, len(VICTIMS))
        for first in range(len(victims)):
            yield from ((victims[(first + number) % len(victims)], kind) for number, kind in enumerate(kinds))


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailingDisks:
    made = FailingDisks(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def cluster(disks: FailingDisks) -> Iterator[EmbeddedCluster]:
    del disks  # Nodes find them in their environment.
    with EmbeddedCluster(brokers=3, config=CONFIG) as started:
        with Client(started.bootstrap_servers) as client:
            topics = {TOPIC: PARTITIONS} | dict.fromkeys(BANK_TOPICS, BANK_PARTITIONS)
            created = client.admin.create_topics([NewTopic(name, count) for name, count in topics.items()])
        assert [one.error for one in created.values()] == [None] * len(topics)
        assert {one.replication_factor for one in created.values()} == {3}
        wait_until_known(started.bootstrap_servers, list(topics))
        yield started


@pytest.mark.java
@pytest.mark.timeout(180 + 60 * FAULTS)
def test_nothing_acknowledged_is_lost_doubled_or_torn_when_nodes_fail(
    cluster: EmbeddedCluster, disks: FailingDisks
) -> None:
    scene = Scene(cluster, disks, random.Random(SEED))
    bootstrap = cluster.bootstrap_servers
    tellers = java_teller(bootstrap, "java", 4), confluent_teller(bootstrap, "confluent", 3)
    with ExitStack() as closing:
        load = NumberedLoad(bootstrap, TOPIC, PARTITIONS)
        closing.callback(load.stop)
        group = GroupLoad(bootstrap, TOPIC)
        closing.callback(group.close)
        opened = closing.enter_context(bank(bootstrap, *tellers, settling_s=SETTLING_S))
        opened.work(TRANSFERS_BETWEEN_FAULTS)
        group.work(COMMITS_BETWEEN_FAULTS)
        for number, (victim, fault) in enumerate(itertools.islice(faults(scene.chance), FAULTS), 1):
            node = victim(cluster)
            enough = load.total() + ACKNOWLEDGED_BETWEEN_FAULTS
            what = fault(scene, node)
            eventually(load.total, lambda total, enough=enough: total >= enough, timeout_s=90)
            opened.work(TRANSFERS_BETWEEN_FAULTS)
            group.work(COMMITS_BETWEEN_FAULTS)
            # `make chaos-cluster` shows it: hundreds of faults take a while.
            print(
                f"fault {number} of {FAULTS}: the {victim.__name__}, node {node}, was {what}; {load.total()} "
                f"acknowledged, {opened.committed()} transfers, {group.commits()} commits of the group"
            )
        opened.close_for_the_day()
        load.stop()
        group.check(load.sent)
    load.check(ConfluentKafka(bootstrap))
    wait_until_in_sync(cluster.bootstrap_servers)
    wait_until_equal(cluster, (TOPIC, *BANK_TOPICS))
    for node in scene.filled:
        assert "has no space left" in cluster.log(node), "the fault took effect"


@pytest.mark.parametrize(
    ("first", "following", "found"),
    [
        (10, 20, []),
        (9, 20, ["partition 0: begun at 9, behind the commit of 10"]),
        (11, 20, ["partition 0: begun at 11, beyond any commit, up to 10"]),
        (10, 21, ["partition 0: 20 follows where 21 is expected"]),
    ],
)
def test_a_group_that_goes_back_or_skips_is_noticed(first: int, following: int, found: list[str]) -> None:
    said = (
        (0, "assigned 1 0 0 0"),
        (0, "read 2 0 0 10"),
        (0, "committing 3 0 10 10"),
        (0, "committed 4 0 10 10"),
        (1, "assigned 5 0 0 0"),
        (1, f"read 6 0 {first} {following}"),
        (1, "read 7 0 20 30"),
    )
    assert anomalies(event(line, member) for member, line in said) == found
