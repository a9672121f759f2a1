"""Rows about nodes that go: what a producer waits that writes to a partition which the node leads."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from bench.cluster.acknowledgements import Acknowledgements
from bench.cluster.nodes import NODES, WAIT_S, Nodes
from bench.cluster.row import ClusterRow
from bench.cluster.view import accepting
from bench.row import Metrics
from harness.cluster import NodeProcess
from harness.waiting import eventually

CALM_S = 1.0


class Scene:
    """A producer that writes to a partition, and the node that leads it."""

    def __init__(self, nodes: Nodes, topic: str, victim: int, partition: int, written: Acknowledgements) -> None:
        self.nodes = nodes
        self.topic = topic
        self.victim = victim
        self.partition = partition
        self.written = written

    @property
    def node(self) -> NodeProcess:
        return self.nodes.brokers[self.victim]

    def replace_leader(self, began_s: float) -> Metrics:
        """Waits until the producer has heard from another leader; what that took since the fault."""
        eventually(self._is_served, timeout_s=WAIT_S)
        served_s = time.monotonic() - began_s
        self.until_acknowledged()
        return {"served_s": served_s, "pause_s": self.written.longest_pause_s(began_s)}

    def _is_served(self) -> bool:
        """Whether another node leads, as it says itself, and accepts a record with acks=all. Asked directly, because a
        client looks for a new leader as often as it sees fit."""
        for broker in self.nodes.others(self.victim):
            if self.nodes.view(broker, self.topic).partitions[self.partition].leader == broker:
                return bool(accepting(self.nodes.brokers[broker].port, self.topic, [self.partition]))
        return False

    def until_acknowledged(self) -> None:
        """Returns when a record is acknowledged that was so later than now."""
        now_s = time.monotonic()
        eventually(lambda: self.written.has_come_since(now_s), timeout_s=WAIT_S)


@contextmanager
def scene(nodes: Nodes, *, of_controller: bool) -> Iterator[Scene]:
    """The node that leads the partition is the active controller as well, or is not."""
    with nodes.topic(NODES) as topic:
        controller = nodes.active_controller()
        seen = nodes.view(controller, topic)
        partition, victim = next(
            (index, replicas.leader)
            for index, replicas in seen.partitions.items()
            if (replicas.leader == controller) == of_controller
        )
        with Acknowledgements(nodes.bootstrap, topic, partition) as written:
            found = Scene(nodes, topic, victim, partition, written)
            found.until_acknowledged()
            # Clients look for leaders by timers of their own: the fault comes at any moment between two looks.
            time.sleep(CALM_S + random.random())
            yield found


def kill(found: Scene) -> Metrics:
    began_s = time.monotonic()
    found.node.kill()
    measured = found.replace_leader(began_s)
    found.nodes.bring_back(found.victim, found.topic, NODES)
    return measured


def freeze(found: Scene) -> Metrics:
    began_s = time.monotonic()
    os.kill(found.node.pid, signal.SIGSTOP)
    try:
        measured = found.replace_leader(began_s)
    finally:
        os.kill(found.node.pid, signal.SIGCONT)
    found.nodes.settle(found.topic, NODES)
    return measured


def restart(found: Scene) -> Metrics:
    """In order, there and back: the node leads again in the end."""
    began_s = time.monotonic()
    found.node.stop()
    found.nodes.bring_back(found.victim, found.topic, NODES)
    found.nodes.until(found.victim, found.topic, lambda seen: seen.partitions[found.partition].leader == found.victim)
    found.until_acknowledged()
    return {"pause_s": found.written.longest_pause_s(began_s)}


def suffer(fault: Callable[[Scene], Metrics], nodes: Nodes, _scale: float, *, of_controller: bool) -> Metrics:
    with scene(nodes, of_controller=of_controller) as found:
        return fault(found)


def rows() -> list[ClusterRow]:
    watched = "a record every 5 ms to a partition that the node leads, with librdkafka (idempotent, acks=all)"
    return [
        ClusterRow(
            "restarted",
            "a node restarts in order",
            f"SIGTERM, start, preferred election; {watched}",
            partial(suffer, restart, of_controller=False),
            {"pause_s": 1.0},
            {"pause_s": 0.5},
        ),
        ClusterRow(
            "killed",
            "a node is killed",
            f"SIGKILL; {watched}; the active controller is another one",
            partial(suffer, kill, of_controller=False),
            {"served_s": 1.0, "pause_s": 1.0},
            {"served_s": 1.5},
        ),
        ClusterRow(
            "killed-controller",
            "the active controller is killed",
            f"SIGKILL; {watched}",
            partial(suffer, kill, of_controller=True),
            {"served_s": 1.0, "pause_s": 1.0},
            {"served_s": 1.5},
        ),
        ClusterRow(
            "frozen",
            "a node freezes",
            f"SIGSTOP; {watched}; a request is given up after 1 s",
            partial(suffer, freeze, of_controller=False),
            {"served_s": 1.0, "pause_s": 1.0},
        ),
    ]
