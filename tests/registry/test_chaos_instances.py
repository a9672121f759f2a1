"""Three instances over three brokers, killed, stopped, frozen and restarted while clients use all of them.

No id is given twice, nothing that was acknowledged is lost, one writes at a time, and no instance denies what another
one has acknowledged. `make chaos-registry KILLS=200` goes on for longer.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.registries import RegistryProcess, running_registries
from harness.registry_faults import KINDS, TOPIC, Scene, kill_all
from harness.schema_history import LogEntry, anomalies
from harness.schema_load import SchemaLoad
from harness.schema_log import read_log
from harness.waiting import eventually
from ottla.client import Client
from ottla.testing import EmbeddedCluster

# Rounds are whole; one has three, or six where there is time for all instances at once.
KILLS = int(os.environ.get("OTTLA_KILLS", "3"))
FAULTS = KINDS if KILLS <= 3 else (*KINDS, kill_all)
SEED = int(os.environ.get("OTTLA_SEED", "1"))
REGISTERED_BETWEEN_FAULTS = 20
CONFIG = {"broker.session.timeout.ms": 5000, "broker.heartbeat.interval.ms": 500}


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3, config=CONFIG) as started:
        yield started


@pytest.fixture
def instances(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[list[RegistryProcess]]:
    with running_registries(tmp_path, cluster.bootstrap_servers, [{}] * 3) as started:
        httpx.put(f"{started[0].url}/config", json={"compatibility": "NONE"}).raise_for_status()
        yield started


@pytest.mark.timeout(180 + 60 * KILLS)
def test_no_id_is_given_twice_and_nothing_acknowledged_is_lost(
    cluster: EmbeddedCluster, instances: list[RegistryProcess]
) -> None:
    scene = Scene(instances, cluster, random.Random(SEED))
    load = SchemaLoad([one.url for one in instances], SEED)
    kills = 0
    try:
        while kills < KILLS:
            for fault in scene.chance.sample(FAULTS, len(FAULTS)):
                enough = load.registered() + REGISTERED_BETWEEN_FAULTS
                harm = fault(scene)
                kills += harm.kills
                eventually(load.registered, lambda count, enough=enough: count >= enough, timeout_s=60)
                # `make chaos-registry` shows it: hundreds of kills take a while.
                print(
                    f"{kills} kills of {KILLS}: {harm.what}, no change for {harm.interruption_s:.1f} s; "
                    f"{load.registered()} registrations, {len(load.events)} answers, failures: {load.failures}"
                )
    finally:
        load.stop()
    assert anomalies(load.events, asyncio.run(read_topic(cluster))) == []
    assert len({everything_in(one) for one in instances}) == 1, "all have read the same"


def everything_in(instance: RegistryProcess) -> bytes:
    return httpx.get(f"{instance.url}/schemas?deleted=true", timeout=30).raise_for_status().content


async def read_topic(cluster: EmbeddedCluster) -> list[LogEntry]:
    async with Client(cluster.bootstrap_servers) as client:
        return await read_log(client, TOPIC)
