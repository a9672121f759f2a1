"""What happens to the instances of a registry and to the brokers under them, and how long nobody could write."""

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from harness.registries import RegistryProcess
from harness.replicas import leader_of, wait_until_in_sync
from harness.waiting import eventually
from ottla.testing import EmbeddedCluster

TOPIC = "_schemas"
# Longer than the session of an instance in its group (10 s), so that another one leads when it wakes.
ASLEEP_S = 13.0
_PROBE_TIMEOUT_S = 2.0
_TIMEOUT_S = 60.0
_UNKNOWN_LEADER = 50004


@dataclass(frozen=True, slots=True)
class Scene:
    instances: Sequence[RegistryProcess]
    cluster: EmbeddedCluster
    chance: random.Random

    def leader(self) -> RegistryProcess:
        """The one that carries out what must not be forwarded, once the group has chosen for good: the smallest URL."""
        chosen = min(self.instances, key=lambda one: one.url)
        eventually(lambda: [one for one in self.instances if leads(one)], lambda found: found == [chosen], timeout_s=60)
        return chosen

    def follower(self) -> RegistryProcess:
        leader = self.leader()
        return self.chance.choice([one for one in self.instances if one is not leader])

    def until_written(self, *without: RegistryProcess) -> float:
        """How many seconds it takes until a change through one of the others is made."""
        others = [one for one in self.instances if one not in without]
        began_s = time.monotonic()
        eventually(lambda: any(takes_changes(one) for one in others), timeout_s=_TIMEOUT_S)
        return time.monotonic() - began_s


@dataclass(frozen=True, slots=True)
class Harm:
    what: str
    # Until somebody took changes again.
    interruption_s: float
    kills: int = 0


def leads(instance: RegistryProcess) -> bool:
    try:
        answer = httpx.delete(
            f"{instance.url}/subjects/nobody", headers={"X-Forward": "true"}, timeout=_PROBE_TIMEOUT_S
        )
    except httpx.HTTPError:
        return False
    return bool(answer.json()["error_code"] != _UNKNOWN_LEADER)


def takes_changes(instance: RegistryProcess) -> bool:
    try:
        answer = httpx.put(f"{instance.url}/config/probe", json={"compatibility": "NONE"}, timeout=_PROBE_TIMEOUT_S)
    except httpx.HTTPError:
        return False
    return answer.is_success


def kill_leader(scene: Scene) -> Harm:
    victim = scene.leader()
    victim.kill()
    interruption_s = scene.until_written(victim)
    victim.launch()
    victim.until_up()
    return Harm("the leader was killed", interruption_s, kills=1)


def kill_all(scene: Scene) -> Harm:
    """They are back before the group has missed them."""
    for one in scene.instances:
        one.kill()
        one.launch()
    interruption_s = scene.until_written()
    for one in scene.instances:
        one.until_up()
    return Harm("all instances were killed", interruption_s, kills=len(scene.instances))


def kill_follower(scene: Scene) -> Harm:
    victim = scene.follower()
    victim.kill()
    interruption_s = scene.until_written(victim)
    victim.launch()
    victim.until_up()
    return Harm("a follower was killed", interruption_s, kills=1)


def kill_broker(scene: Scene) -> Harm:
    """The one that leads the topic of the schemas."""
    node = eventually(lambda: leader_of(scene.cluster.bootstrap_servers, TOPIC), lambda found: found > 0)
    scene.cluster.kill(node=node)
    interruption_s = scene.until_written()
    scene.cluster.restart(node)
    # The next one must not take the last replica that has everything.
    wait_until_in_sync(scene.cluster.bootstrap_servers)
    return Harm(f"broker {node} was killed", interruption_s, kills=1)


def freeze_leader(scene: Scene) -> Harm:
    victim = scene.leader()
    os.kill(victim.pid, signal.SIGSTOP)
    began_s = time.monotonic()
    interruption_s = scene.until_written(victim)
    time.sleep(max(0.0, ASLEEP_S - (time.monotonic() - began_s)))
    os.kill(victim.pid, signal.SIGCONT)
    return Harm(f"the leader slept for {ASLEEP_S:g} s", interruption_s)


def stop_leader(scene: Scene) -> Harm:
    victim = scene.leader()
    victim.terminate()
    interruption_s = scene.until_written(victim)
    assert victim.wait() == 0
    victim.launch()
    victim.until_up()
    return Harm("the leader was stopped", interruption_s)


Fault = Callable[[Scene], Harm]
KINDS: tuple[Fault, ...] = (
    kill_leader,
    kill_follower,
    freeze_leader,
    kill_broker,
    stop_leader,
)
