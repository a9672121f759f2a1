"""Rows about many partitions: what they cost while nobody uses them, how soon they are there, how soon they move."""

import time

from bench.cluster.nodes import Nodes
from bench.cluster.row import ClusterRow
from bench.row import Metrics, scaled

IDLE = 1000
MANY = 5000
# Until what follows the creation has ended, and how long is measured.
QUIET_S = 5.0
MEASURED_S = 10.0


def idle(nodes: Nodes, scale: float) -> Metrics:
    with nodes.topic(scaled(IDLE, scale, 10)):
        time.sleep(QUIET_S)
        began_s, before = time.monotonic(), nodes.cpu_of_each()
        time.sleep(MEASURED_S)
        took_s, after = time.monotonic() - began_s, nodes.cpu_of_each()
    percents = [(later - earlier) / took_s * 100 for earlier, later in zip(before, after, strict=True)]
    return {"idle_cpu_percent": max(percents)}


def many(nodes: Nodes, scale: float) -> Metrics:
    """The cluster has a broker less in the end."""
    partitions = scaled(MANY, scale, 10)
    topic = "many"
    began_s = time.monotonic()
    nodes.create_topic(topic, partitions)
    known_s = time.monotonic() - began_s
    nodes.write_to_all(topic, partitions, next(iter(nodes.brokers)))
    created_s = time.monotonic() - began_s
    controller = nodes.active_controller()
    victim = next(broker for broker in nodes.brokers if broker != controller)
    survivors = nodes.others(victim)
    killed_s = time.monotonic()
    nodes.brokers[victim].kill()
    nodes.until(survivors[0], topic, lambda seen: victim not in seen.brokers)
    fenced_s = time.monotonic()
    for survivor in survivors:
        nodes.until(survivor, topic, lambda seen: not seen.leads(victim))
    moved_s = time.monotonic()
    nodes.write_to_all(topic, partitions, survivors[0])
    return {
        "known_s": known_s,
        "created_s": created_s,
        "moved_s": moved_s - fenced_s,
        "dead_moved_s": moved_s - killed_s,
        "dead_written_s": time.monotonic() - killed_s,
    }


def rows() -> list[ClusterRow]:
    return [
        ClusterRow(
            "idle-1000",
            "1,000 partitions x 3 that nobody uses",
            f"CPU of the busiest node in {MEASURED_S:g} s",
            idle,
            {"idle_cpu_percent": 1.0},
            {"idle_cpu_percent": 2.0},
        ),
        ClusterRow(
            "partitions-5000",
            "5,000 partitions x 3",
            "one CreateTopics request; a record to every partition; SIGKILL to a node; a record to every partition",
            many,
            {"created_s": 1.0, "moved_s": 1.0},
            {"created_s": 60.0, "moved_s": 3.0},
        ),
    ]
